"""Weighted sum of the taps' surprisals (SPEC 1.4) <-> snapuq_score_q16.c."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

ONE_Q16 = 1 << 16


def quantize_weights_q16(weights: ArrayLike) -> NDArray[np.uint32]:
    """Real weights [taps] >= 0, not all zero -> uint32 that sum to exactly 65536.

    They are normalized; what rounding down leaves goes to the largest remainders.
    """
    real = np.asarray(weights, np.float64)
    exact = real / real.sum() * ONE_Q16
    whole = np.floor(exact).astype(np.int64)
    missing = ONE_Q16 - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole.astype(np.uint32)


def score_q16(
    surprisal_q16: NDArray[np.uint32], weight_q16: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """surprisal uint32 [N, taps] < 2^31, weight uint32 [taps] -> score uint32 [N] < 2^31."""
    total_q32 = np.sum(surprisal_q16.astype(np.uint64) * weight_q16.astype(np.uint64), axis=-1)
    return ((total_q32 + np.uint64(1 << 15)) >> np.uint64(16)).astype(np.uint32)
