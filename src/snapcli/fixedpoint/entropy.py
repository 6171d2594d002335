"""Entropy of probabilities, and those of an ensemble (SPEC 1.6) <-> snapuq_entropy_q16.c,
snapuq_average_q16.c."""

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.ln import ln_of_q16


def entropy_q16(probability_q16: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Probabilities, Q16, uint32 [N, classes] of at most 65536 each -> -sum p ln p in nats, Q16,
    uint32 [N].

    Meets the entropy of these numbers, as they are, to 2^-13 of their sum and half a unit.
    """
    wide = probability_q16.astype(np.int64)
    total_q32 = np.sum(wide * -ln_of_q16(wide), axis=-1)
    return ((total_q32 + (1 << 15)) >> 16).astype(np.uint32)


def average_q16(value_q16: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Mean over members, rounded half up: uint32 [N, members, classes] -> uint32 [N, classes]."""
    members = value_q16.shape[1]
    total = value_q16.astype(np.int64).sum(axis=1)
    return ((total + members // 2) // members).astype(np.uint32)
