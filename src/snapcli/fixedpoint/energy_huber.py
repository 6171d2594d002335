"""Huber: e = mean(2 rho(u)) (SPEC 1.3) <-> snapuq_energy_huber_q16.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.energy_gaussian import mean_q16
from snapcli.fixedpoint.residual import Residual


@dataclass(frozen=True)
class EnergyHuber:
    """Fields of struct snapuq_energy_huber; 0 < delta < 16."""

    delta_q12: int


def energy_huber_q16(energy: EnergyHuber, residual: Residual) -> NDArray[np.uint32]:
    """uint32 [N], Q16, at most 2^31 - 1."""
    size_q12, delta_q12 = np.abs(residual.u_q12), energy.delta_q12
    linear_q24 = delta_q12 * (2 * size_q12 - delta_q12)
    total_q24 = np.sum(np.where(size_q12 <= delta_q12, size_q12**2, linear_q24), axis=-1)
    return mean_q16(total_q24 >> 8, residual.u_q12.shape[-1])
