"""Natural logarithm (SPEC 1.5) <-> snapuq_ln_q16.c."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

LN2_Q16 = 45426


def log2_q15_table() -> NDArray[np.uint16]:
    """log2(1 + i / 256), Q15, i = 0..256: uint16 [257]."""
    return np.floor(2**15 * np.log2(1 + np.arange(257) / 256) + 0.5).astype(np.uint16)


def ln_q16(value: ArrayLike) -> NDArray[np.int64]:
    """ln(value), Q16; value uint32 of any shape, 0 counts as 1. Returns int64 in [0, 2^21)."""
    value = np.asarray(value, np.int64)
    top = _highest_bit(value)
    up, down = np.maximum(24 - top, 0), np.maximum(top - 24, 0)
    below = (value >> down) << up
    # The highest bit itself is masked away, so that 0 and 1 look alike.
    index, fraction = (below >> 16) & 255, below & 65535
    table = log2_q15_table().astype(np.int64)
    log2_q15 = table[index] + (((table[index + 1] - table[index]) * fraction) >> 16)
    return (((top << 16) + (log2_q15 << 1)) * LN2_Q16 + (1 << 15)) >> 16


def ln_of_q16(value_q16: ArrayLike) -> NDArray[np.int64]:
    """ln of a number in Q16, Q16; value uint32, 0 counts as 2^-16. Returns int64, 0 for one."""
    return ln_q16(value_q16) - 16 * LN2_Q16


def _highest_bit(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the highest set bit of value < 2^53, 0 for 0."""
    return np.frexp(np.maximum(value, 1).astype(np.float64))[1].astype(np.int64) - 1
