"""Surprisal of a tap: residuals by its head, then the energy of its likelihood (SPEC 1.3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.energy import Energy
from snapcli.fixedpoint.residual import HeadS8, residual_s8


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
    return head.energy.q16(residual_s8(head.residual, sum_before, sum_after, predicted))
