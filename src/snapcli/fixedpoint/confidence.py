"""What the logits say about themselves (SPEC 1.6) <-> snapuq_argmax_s8.c, snapuq_confidence.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.ln import ln_q16

ONE_Q15 = 1 << 15


@dataclass(frozen=True, eq=False)
class Confidence:
    """step_q16: logit_scale / temperature; exp_q15 uint16 [256]: exp(-d * step)."""

    classes: int
    step_q16: int
    exp_q15: NDArray[np.uint16]


def confidence_of(classes: int, logit_scale: float, temperature: float) -> Confidence:
    """The confidence of a classifier with 2 to 65536 classes."""
    step = float(logit_scale) / float(temperature)
    table = np.floor(ONE_Q15 * np.exp(-np.arange(256) * step) + 0.5).astype(np.uint16)
    return Confidence(classes, int(np.floor(65536 * step + 0.5)), table)


def argmax_s8(logits: NDArray[np.int8]) -> NDArray[np.int32]:
    """logits int8 [N, classes] -> index of the first largest, int32 [N]."""
    return np.argmax(logits, axis=-1).astype(np.int32)


def error_logit_q16(
    confidence: Confidence, logits: NDArray[np.int8], predicted: NDArray[np.int32]
) -> NDArray[np.int32]:
    """ln((1 - max p) / max p), Q16: logits int8 [N, classes], predicted int32 [N] -> int32 [N]."""
    first, others = _split(logits, predicted)
    second = others.max(axis=-1)
    total = confidence.exp_q15.astype(np.int64)[second[:, np.newaxis] - others].sum(axis=-1)
    margin = (first - second) * confidence.step_q16
    return (ln_q16(total) - ln_q16(ONE_Q15) - margin).astype(np.int32)


def free_energy_q16(
    confidence: Confidence, logits: NDArray[np.int8], predicted: NDArray[np.int32]
) -> NDArray[np.int32]:
    """-ln(sum of exp(logit * step)), Q16: grows as all logits fall.

    logits int8 [N, classes], their zero point left in; predicted int32 [N] -> int32 [N].
    """
    first, others = _split(logits, predicted)
    exp_q15 = confidence.exp_q15.astype(np.int64)[first[:, np.newaxis] - others]
    total = ONE_Q15 + exp_q15.sum(axis=-1)
    return (ln_q16(ONE_Q15) - ln_q16(total) - first * confidence.step_q16).astype(np.int32)


def doubt_q16(
    confidence: Confidence, logits: NDArray[np.int8], predicted: NDArray[np.int32], alpha_q16: int
) -> NDArray[np.uint32]:
    """alpha (1 - max p) + (1 - alpha) (1 - margin), Q16 in [0, 65536].

    logits int8 [N, classes], predicted int32 [N] = argmax, alpha in [0, 65536] -> uint32 [N].
    """
    first, others = _split(logits, predicted)
    exp_q15 = confidence.exp_q15.astype(np.int64)[first[:, np.newaxis] - others]
    total, second = ONE_Q15 + exp_q15.sum(axis=-1), exp_q15.max(axis=-1)
    p1 = ((1 << 31) + total // 2) // total
    p2 = ((second << 16) + total // 2) // total
    doubt = alpha_q16 * (65536 - p1) + (65536 - alpha_q16) * (65536 - p1 + p2)
    return ((doubt + (1 << 15)) >> 16).astype(np.uint32)


def _split(
    logits: NDArray[np.int8], predicted: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The predicted logit [N] and the other logits [N, classes - 1], int64."""
    wide = logits.astype(np.int64)
    is_first = np.arange(wide.shape[1]) == predicted[:, np.newaxis]
    return wide[is_first], wide[~is_first].reshape(len(wide), -1)
