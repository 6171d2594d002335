"""Natural logarithm (SPEC 1.5) <-> snapuq_ln_q16.c."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

LN2_Q16 = 45426


def log2_q15_table() -> NDArray[np.uint16]:
    """log2(1 + i / 256), Q15, i = 0..256: uint16 [257]."""
    return np.floor(2**15 * np.log2(1 + np.arange(257) / 256) + 0.5).astype(np.uint16)


def ln_q16(value: ArrayLike) -> NDArray[np.int64]:
    """ln(value), Q16; value uint64 of any shape, 0 counts as 1. Returns int64 in [0, 2^22)."""
    value = np.asarray(value, np.uint64)
    top = _highest_bit(value)
    up, down = np.maximum(24 - top, 0), np.maximum(top - 24, 0)
    below = ((value >> down.astype(np.uint64)) << up.astype(np.uint64)).astype(np.int64)
    # The highest bit itself is masked away, so that 0 and 1 look alike.
    index, fraction = (below >> 16) & 255, below & 65535
    table = log2_q15_table().astype(np.int64)
    log2_q15 = table[index] + (((table[index + 1] - table[index]) * fraction) >> 16)
    return (((top << 16) + (log2_q15 << 1)) * LN2_Q16 + (1 << 15)) >> 16


def _highest_bit(value: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Index of the highest set bit, 0 for 0; by halving, as floats would round 2^64 - 1 up."""
    top = np.zeros(value.shape, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        high = (value >> np.uint64(step)) > 0
        top += np.where(high, step, 0)
        value = np.where(high, value >> np.uint64(step), value)
    return top
