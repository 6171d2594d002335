"""Student-t: e = mean((nu + 1) ln(1 + u^2 / nu)) (SPEC 1.3) <-> snapuq_energy_student_t_q16.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.energy_gaussian import mean_q16
from snapcli.fixedpoint.ln import ln_q16
from snapcli.fixedpoint.residual import Residual

UINT32_MAX = 2**32 - 1
# Here 1 + u^2 / nu has saturated long before.
U_LIMIT_Q12 = 1 << 23


@dataclass(frozen=True)
class EnergyStudentT:
    """Fields of struct snapuq_energy_student_t; 3 <= nu <= 30."""

    inverse_nu_q18: int
    nu_plus_1_q16: int


def energy_student_t_q16(energy: EnergyStudentT, residual: Residual) -> NDArray[np.uint32]:
    """uint32 [N], Q16, at most 2^31 - 1."""
    size_q12 = np.minimum(np.abs(residual.u_q12), U_LIMIT_Q12)
    ratio_q16 = (size_q12**2 * energy.inverse_nu_q18 + (1 << 25)) >> 26
    one_plus_q16 = np.minimum((1 << 16) + ratio_q16, UINT32_MAX)
    total_q16 = np.sum(ln_q16(one_plus_q16) - ln_q16(1 << 16), axis=-1)
    scaled_q16 = (total_q16 * energy.nu_plus_1_q16 + (1 << 15)) >> 16
    return mean_q16(scaled_q16, residual.u_q12.shape[-1])
