"""One weight per tap: S = sum_l w_l e_l."""

import numpy as np

from snapcli.array import Array


def tap_weights(surprisal: Array, rule: str) -> Array:
    """[n, taps] of clean dev data -> [taps], non-negative, sum 1.

    rule: uniform, or inverse-variance, which trusts a noisy tap less.
    """
    taps = surprisal.shape[1]
    if rule == "uniform":
        return np.full(taps, 1.0 / taps)
    weights = 1.0 / np.maximum(surprisal.var(axis=0), 1e-12)
    return weights / weights.sum()
