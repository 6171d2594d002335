"""Logistic sigmoid (SPEC 1.5) <-> snapuq_sigmoid_q16.c."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

LIMIT_Q16 = (1 << 20) - 1  # |t| just below 16, where the table ends


def sigmoid_tail_q16_table() -> NDArray[np.uint16]:
    """1 / (1 + exp(i / 16)), Q16, i = 0..256: uint16 [257]."""
    return np.floor(2**16 / (1 + np.exp(np.arange(257) / 16)) + 0.5).astype(np.uint16)


def sigmoid_q16(t_q16: ArrayLike) -> NDArray[np.uint32]:
    """1 / (1 + exp(-t)), Q16 in [0, 65536]; t int64 of any shape."""
    t_q16 = np.clip(np.asarray(t_q16, np.int64), -LIMIT_Q16, LIMIT_Q16)
    size = np.abs(t_q16)
    index, fraction = size >> 12, size & 4095
    table = sigmoid_tail_q16_table().astype(np.int64)
    tail = table[index] - (((table[index] - table[index + 1]) * fraction) >> 12)
    return np.where(t_q16 < 0, tail, 65536 - tail).astype(np.uint32)
