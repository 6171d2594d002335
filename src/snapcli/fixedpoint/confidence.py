"""What the logits say about themselves (SPEC 1.6) <-> snapuq_argmax_s8.c, snapuq_confidence.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.ln import ln_q16

ONE_Q30 = 1 << 30


@dataclass(frozen=True, eq=False)
class Confidence:
    """exp_q30 uint32 [256]: exp(-d * logit_scale / temperature), d steps below the maximum."""

    classes: int
    exp_q30: NDArray[np.uint32]


def exp_q30_table(logit_scale: float, temperature: float) -> NDArray[np.uint32]:
    """exp(-d * logit_scale / temperature), Q30, d = 0..255: uint32 [256]."""
    steps = np.arange(256) * (float(logit_scale) / float(temperature))
    return np.floor(ONE_Q30 * np.exp(-steps) + 0.5).astype(np.uint32)


def argmax_s8(logits: NDArray[np.int8]) -> NDArray[np.int32]:
    """logits int8 [N, classes] -> index of the first largest, int32 [N]."""
    return np.argmax(logits, axis=-1).astype(np.int32)


def error_logit_q16(
    confidence: Confidence, logits: NDArray[np.int8], predicted: NDArray[np.int32]
) -> NDArray[np.int32]:
    """ln((1 - max p) / max p), Q16: logits int8 [N, classes], predicted int32 [N] -> int32 [N]."""
    others = _others_q30(confidence, logits, predicted).sum(axis=-1)
    return (ln_q16(others) - ln_q16(ONE_Q30)).astype(np.int32)


def doubt_q16(
    confidence: Confidence, logits: NDArray[np.int8], predicted: NDArray[np.int32], alpha_q16: int
) -> NDArray[np.uint32]:
    """alpha (1 - max p) + (1 - alpha) (1 - margin), Q16 in [0, 65536].

    logits int8 [N, classes], predicted int32 [N] = argmax, alpha in [0, 65536] -> uint32 [N].
    """
    others = _others_q30(confidence, logits, predicted)
    total, second = ONE_Q30 + others.sum(axis=-1), others.max(axis=-1)
    p1 = ((1 << 46) + total // 2) // total
    p2 = ((second << 16) + total // 2) // total
    doubt = alpha_q16 * (65536 - p1) + (65536 - alpha_q16) * (65536 - p1 + p2)
    return ((doubt + (1 << 15)) >> 16).astype(np.uint32)


def _others_q30(
    confidence: Confidence, logits: NDArray[np.int8], predicted: NDArray[np.int32]
) -> NDArray[np.int64]:
    """exp_q30 of every class relative to the predicted one, which itself counts 0: int64 [N, C]."""
    wide = logits.astype(np.int64)
    chosen = predicted.astype(np.int64)[:, np.newaxis]
    others = confidence.exp_q30.astype(np.int64)[np.take_along_axis(wide, chosen, -1) - wide]
    np.put_along_axis(others, chosen, 0, -1)
    return others
