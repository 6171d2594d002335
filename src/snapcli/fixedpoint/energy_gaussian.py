"""Diagonal Gaussian: e = mean(u^2) (SPEC 1.3) <-> snapuq_energy_gaussian_q16.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import INT32_MAX
from snapcli.fixedpoint.residual import Residual


@dataclass(frozen=True)
class EnergyGaussian:
    """It has no parameters."""


def energy_gaussian_q16(residual: Residual) -> NDArray[np.uint32]:
    """uint32 [N], Q16, at most 2^31 - 1."""
    total_q24 = np.sum(residual.u_q12**2, axis=-1)
    return mean_q16(total_q24 >> 8, residual.u_q12.shape[-1])


def mean_q16(total_q16: NDArray[np.int64], channels: int) -> NDArray[np.uint32]:
    """total / channels, rounded down, saturated as every energy is; total >= 0."""
    return np.minimum(total_q16 // channels, INT32_MAX).astype(np.uint32)
