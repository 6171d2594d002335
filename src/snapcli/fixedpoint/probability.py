"""Softmax of the logits, as the link prints it (SPEC 1.6) <-> snapuq_probability_q16.c."""

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.exp import exp_q16


def probability_step_q24(logit_scale: float) -> int:
    """What one step of a logit counts, Q24; logit_scale < 256."""
    return int(np.floor((1 << 24) * float(logit_scale) + 0.5))


def probability_q16(logits: NDArray[np.int8], step_q24: int) -> NDArray[np.uint32]:
    """logits int8 [N, classes] -> probabilities, Q16, uint32 [N, classes].

    Each is rounded by itself: their sum is 65536 but for half a unit per class.
    """
    wide = logits.astype(np.int64)
    below_q24 = (wide.max(axis=-1, keepdims=True) - wide) * step_q24
    share_q16 = exp_q16((below_q24 + (1 << 7)) >> 8)
    total = share_q16.sum(axis=-1, keepdims=True)
    return (((share_q16 << 16) + total // 2) // total).astype(np.uint32)
