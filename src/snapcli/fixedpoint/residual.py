"""What a head makes of a tap: residuals in deviations (SPEC 1.3) <-> snapuq_residual_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import Multiplier, requantize

RESIDUAL_LIMIT_Q16 = 1 << 23


@dataclass(frozen=True, eq=False)
class Standardize:
    """A pooled sum in standard deviations: mantissa, offset int32 [channels], one shift."""

    mantissa: NDArray[np.int32]
    offset: NDArray[np.int32]
    shift: int


@dataclass(frozen=True, eq=False)
class HeadS8:
    """Fields, shapes and formats of struct snapuq_head_s8.

    A head has components * channels rows; row i predicts channel i % channels, and after.offset
    is by row. With rank 0 the projector is folded: projector is empty, latent unused. class_mean
    [classes, channels] is empty if the mean does not depend on the class. in_channels and rank
    are at most 256, channels at most 2048. Weights are int8 in [-127, 127].
    """

    in_channels: int
    channels: int
    components: int
    rank: int
    before: Standardize
    after: Standardize
    projector: NDArray[np.int8]
    latent: Multiplier
    mean_weights: NDArray[np.int8]
    mean: Multiplier
    xi_weights: NDArray[np.int8]
    xi_bias: NDArray[np.int32]
    xi: Multiplier
    xi_zero_point: int
    inverse_sigma_q9: NDArray[np.uint16]
    class_mean: NDArray[np.int8]
    class_scale: Multiplier

    @property
    def rows(self) -> int:
        return self.components * self.channels

    @property
    def inputs(self) -> int:
        """Length of the latent."""
        return self.rank or self.in_channels


@dataclass(frozen=True, eq=False)
class Residual:
    """u_q12 int64 [N, rows], below 2^26 in size: residuals over sigma; inverse_sigma_q9 uint16
    [N, rows]; latent int64 [N, inputs], within int16."""

    u_q12: NDArray[np.int64]
    inverse_sigma_q9: NDArray[np.uint16]
    latent: NDArray[np.int64]


def residual_s8(
    head: HeadS8,
    sum_before: NDArray[np.int32],
    sum_after: NDArray[np.int32],
    predicted: NDArray[np.int32],
) -> Residual:
    """sum_before int32 [N, in_channels], sum_after int32 [N, channels], predicted [N]: classes,
    looked at only by a head with class_mean."""
    z = np.clip(_standardize(head.before, sum_before), -32768, 32767)
    if head.rank:
        z = np.clip(_scale(exact_product(z, head.projector), head.latent), -32768, 32767)
    mean_q16 = _scale(exact_product(z, head.mean_weights), head.mean)
    xi = _scale(exact_product(z, head.xi_weights) + head.xi_bias, head.xi) + head.xi_zero_point
    inverse_sigma_q9 = head.inverse_sigma_q9[np.clip(xi, -128, 127) + 128]
    actual_q16: NDArray[np.int64] = requantize(sum_after, head.after.mantissa, head.after.shift)
    if head.class_mean.size:
        actual_q16 = actual_q16 - _scale(
            head.class_mean[predicted].astype(np.int64), head.class_scale
        )
    residual_q16 = np.tile(actual_q16, head.components) + head.after.offset - mean_q16
    residual_q16 = np.clip(residual_q16, -RESIDUAL_LIMIT_Q16, RESIDUAL_LIMIT_Q16)
    u_q12 = (residual_q16 * inverse_sigma_q9.astype(np.int64) + (1 << 12)) >> 13
    return Residual(u_q12, inverse_sigma_q9, z)


def exact_product(z: NDArray[np.int64], weights: NDArray[np.int8]) -> NDArray[np.int64]:
    """z @ weights.T: float64 holds the sums, all below 2^31."""
    return (z.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.int64)


def _standardize(parameters: Standardize, total: NDArray[np.int32]) -> NDArray[np.int64]:
    return requantize(total, parameters.mantissa, parameters.shift) + parameters.offset


def _scale(accumulator: NDArray[np.int64], multiplier: Multiplier) -> NDArray[np.int64]:
    return requantize(accumulator, multiplier.mantissa, multiplier.shift)
