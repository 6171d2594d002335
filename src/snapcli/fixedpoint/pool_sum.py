"""Exact pooled activations (SPEC 1.3 step 1) <-> snapuq_pool_sum_s8.c."""

import numpy as np
from numpy.typing import NDArray


def pool_sum_s8(x: NDArray[np.int8], zero_point: int) -> NDArray[np.int32]:
    """Sum over positions of x - zero_point; fewer than 2^23 positions, so int32 holds it.

    x int8 [N, ..., channels], everything between the first and last axis is a position.
    Returns int32 [N, channels].
    """
    flat = x.reshape(len(x), -1, x.shape[-1])
    return flat.sum(axis=1, dtype=np.int32) - np.int32(flat.shape[1] * zero_point)
