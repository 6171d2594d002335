"""Exponential of a negative number (SPEC 1.5) <-> snapuq_exp_q16.c."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

LOG2_E_Q16 = 94548
# 2^g = 1 + g (c1 + g (c2 + ...)) on [0, 1], to 4e-6; they sum to one, so that octaves meet.
POWER_Q30 = (744137918, 259177380, 55872046, 14554480)
# From here on the result rounds to zero.
_OCTAVES = 17


def exp_q16(value_q16: ArrayLike) -> NDArray[np.int64]:
    """exp(-value), Q16; value >= 0, Q16, int64 of any shape. Returns int64 in [0, 65536]."""
    exponent_q32 = np.minimum(np.asarray(value_q16, np.int64), 1 << 20) * LOG2_E_Q16
    octave = exponent_q32 >> 32
    # 2^-f = 2^(1 - f) / 2: with 1 - f all terms are positive.
    g_q30 = (1 << 30) - ((exponent_q32 >> 2) & ((1 << 30) - 1))
    power_q30 = np.zeros_like(g_q30)
    for coefficient in reversed((1 << 30, *POWER_Q30)):
        power_q30 = coefficient + ((power_q30 * g_q30) >> 30)
    shift = octave + 15
    return np.where(octave < _OCTAVES, (power_q30 + (np.int64(1) << (shift - 1))) >> shift, 0)
