"""Surprisal of a tap: residuals by its head, then the energy of its likelihood (SPEC 1.3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.energy_gaussian import EnergyGaussian, energy_gaussian_q16
from snapcli.fixedpoint.energy_huber import EnergyHuber, energy_huber_q16
from snapcli.fixedpoint.energy_lowrank import EnergyLowrank, energy_lowrank_f32
from snapcli.fixedpoint.energy_mixture import EnergyMixture, energy_mixture_q16
from snapcli.fixedpoint.energy_student_t import EnergyStudentT, energy_student_t_q16
from snapcli.fixedpoint.residual import HeadS8, Residual, residual_s8

Energy = EnergyGaussian | EnergyStudentT | EnergyHuber | EnergyLowrank | EnergyMixture


@dataclass(frozen=True, eq=False)
class DeviceHead:
    """What predicts an activation, and what judges its residuals."""

    residual: HeadS8
    energy: Energy


def surprisal_q16(
    head: DeviceHead,
    sum_before: NDArray[np.int32],
    sum_after: NDArray[np.int32],
    predicted: NDArray[np.int32],
) -> NDArray[np.uint32]:
    """e uint32 [N], Q16, at most 2^31 - 1; arguments as for residual_s8."""
    return energy_q16(head.energy, residual_s8(head.residual, sum_before, sum_after, predicted))


def energy_q16(energy: Energy, residual: Residual) -> NDArray[np.uint32]:
    match energy:
        case EnergyStudentT():
            return energy_student_t_q16(energy, residual)
        case EnergyHuber():
            return energy_huber_q16(energy, residual)
        case EnergyLowrank():
            return energy_lowrank_f32(energy, residual)
        case EnergyMixture():
            return energy_mixture_q16(energy, residual)
    return energy_gaussian_q16(residual)
