"""Diagonal plus low rank (SPEC 1.3) <-> snapuq_energy_lowrank_f32.c.

Single precision in a fixed order of operations: bit for bit what C computes without fused
multiply-adds, and close to what it computes with them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import INT32_MAX
from snapcli.fixedpoint.residual import Residual

Float = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class EnergyLowrank:
    """Fields of struct snapuq_energy_lowrank: factors k in [1, 16], factor B [channels, k]."""

    factors: int
    factor: NDArray[np.float32]


def energy_lowrank_f32(energy: EnergyLowrank, residual: Residual) -> NDArray[np.uint32]:
    """uint32 [N], Q16, at most 2^31 - 1."""
    u = residual.u_q12.astype(np.float32) * np.float32(2.0**-12)
    inverse_sigma = residual.inverse_sigma_q9.astype(np.float32) * np.float32(2.0**-9)
    count, channels = u.shape
    total = np.zeros(count, np.float32)
    seen = np.zeros((count, energy.factors), np.float32)
    inner = np.tile(np.eye(energy.factors, dtype=np.float32), (count, 1, 1))
    for i in range(channels):
        scaled = energy.factor[i] * inverse_sigma[:, i, np.newaxis]
        total = total + u[:, i] * u[:, i]
        seen = seen + scaled * u[:, i, np.newaxis]
        inner = inner + scaled[:, :, np.newaxis] * scaled[:, np.newaxis, :]
    unexplained = np.maximum(total - _explained(inner, seen), np.float32(0))
    e = unexplained / np.float32(channels)
    # From 2^15 on an energy saturates; what is below fits int32.
    steps = np.minimum(e, np.float32(2**15)) * np.float32(2**16)
    return np.minimum(steps.astype(np.int64), INT32_MAX).astype(np.uint32)


def _explained(inner: Float, seen: Float) -> Float:
    """seen^T inner^-1 seen by inner = L D L^T with a unit diagonal in L, which takes no roots.

    inner [N, k, k], of which the lower half is read, is at least the identity, and so is D:
    what rounding takes away from that is given back.
    """
    k = seen.shape[-1]
    lower, y = inner.copy(), seen.copy()
    explained: Float = np.zeros(len(seen), np.float32)
    for j in range(k):
        pivot: Float = np.maximum(lower[:, j, j], np.float32(1))
        explained = explained + y[:, j] * (y[:, j] / pivot)
        for row in range(j + 1, k):
            ratio = lower[:, row, j] / pivot
            y[:, row] = y[:, row] - ratio * y[:, j]
            for column in range(j + 1, row + 1):
                lower[:, row, column] = lower[:, row, column] - ratio * lower[:, column, j]
    return explained
