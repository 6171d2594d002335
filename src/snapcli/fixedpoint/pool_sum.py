"""Exact pooled activations (SPEC 1.3) <-> snapuq_pool_sum_s8.c, snapuq_pool_moments_s8.c."""

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.square_root import square_root


def pool_sum_s8(x: NDArray[np.int8], zero_point: int) -> NDArray[np.int32]:
    """Sum over positions of x - zero_point; fewer than 2^23 positions, so int32 holds it.

    x int8 [N, ..., channels], everything between the first and last axis is a position.
    Returns int32 [N, channels].
    """
    flat = x.reshape(len(x), -1, x.shape[-1])
    return flat.sum(axis=1, dtype=np.int32) - np.int32(flat.shape[1] * zero_point)


def pool_moments_s8(x: NDArray[np.int8], zero_point: int) -> NDArray[np.int32]:
    """pool_sum_s8, followed by the deviation over positions, times their number, rounded down.

    x as for pool_sum_s8. Returns int32 [N, 2 channels]; both halves have the same unit.
    """
    total = pool_sum_s8(x, zero_point)
    flat = x.reshape(len(x), -1, x.shape[-1]).astype(np.int64) - zero_point
    squares = np.sum(flat * flat, axis=1)
    spread = square_root(flat.shape[1] * squares - total.astype(np.int64) ** 2)
    return np.concatenate([total, spread.astype(np.int32)], axis=-1)
