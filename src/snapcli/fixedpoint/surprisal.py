"""Surprisal of a tap under its Gaussian head (SPEC 1.3) <-> snapuq_surprisal_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import INT32_MAX, Multiplier, requantize

EPS = 1e-4
VARIANCE_MIN, VARIANCE_MAX = 1e-4, 100.0
RESIDUAL_LIMIT_Q16 = 1 << 23


@dataclass(frozen=True, eq=False)
class Standardize:
    """A pooled sum in standard deviations: mantissa, offset int32 [channels], one shift."""

    mantissa: NDArray[np.int32]
    offset: NDArray[np.int32]
    shift: int


@dataclass(frozen=True, eq=False)
class GaussianHeadS8:
    """Diagonal Gaussian head; fields, shapes and formats of struct snapuq_gaussian_head_s8.

    With rank 0 the projector is folded: projector is empty, latent unused. in_channels and
    rank are at most 256, channels at most 2048. Weights are int8 in [-127, 127].
    """

    in_channels: int
    channels: int
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


def inverse_sigma_q9_table(xi_scale: float, xi_zero_point: int) -> NDArray[np.uint16]:
    """1 / sigma for each step of xi, Q9, uint16 [256]; sigma^2 = softplus(xi) + eps^2, clamped."""
    xi = (np.arange(256) - 128 - xi_zero_point) * float(xi_scale)
    variance = np.clip(np.logaddexp(0.0, xi) + EPS**2, VARIANCE_MIN, VARIANCE_MAX)
    return np.minimum(np.floor(512 / np.sqrt(variance) + 0.5), 65535).astype(np.uint16)


def surprisal_s8(
    head: GaussianHeadS8, sum_before: NDArray[np.int32], sum_after: NDArray[np.int32]
) -> NDArray[np.uint32]:
    """Mean squared standardized residual, Q16, at most 2^31 - 1.

    sum_before int32 [N, in_channels], sum_after int32 [N, channels] -> uint32 [N].
    """
    z = np.clip(_standardize(head.before, sum_before), -32768, 32767)
    if head.rank:
        z = np.clip(_scale(_matmul(z, head.projector), head.latent), -32768, 32767)
    mean_q16 = _scale(_matmul(z, head.mean_weights), head.mean)
    xi = _scale(_matmul(z, head.xi_weights) + head.xi_bias, head.xi) + head.xi_zero_point
    inverse_sigma_q9 = head.inverse_sigma_q9.astype(np.int64)[np.clip(xi, -128, 127) + 128]
    residual_q16 = np.clip(
        _standardize(head.after, sum_after) - mean_q16, -RESIDUAL_LIMIT_Q16, RESIDUAL_LIMIT_Q16
    )
    u_q12 = (residual_q16 * inverse_sigma_q9 + (1 << 12)) >> 13
    total_q24 = np.sum(u_q12 * u_q12, axis=-1)
    return np.minimum((total_q24 // head.channels) >> 8, INT32_MAX).astype(np.uint32)


def _standardize(parameters: Standardize, total: NDArray[np.int32]) -> NDArray[np.int64]:
    return requantize(total, parameters.mantissa, parameters.shift) + parameters.offset


def _matmul(z: NDArray[np.int64], weights: NDArray[np.int8]) -> NDArray[np.int64]:
    """Exact z @ weights.T: float64 holds the sums, all below 2^31."""
    return (z.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.int64)


def _scale(accumulator: NDArray[np.int64], multiplier: Multiplier) -> NDArray[np.int64]:
    return requantize(accumulator, multiplier.mantissa, multiplier.shift)
