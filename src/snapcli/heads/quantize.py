"""A fitted head in integers: float parameters -> the device's GaussianHeadS8."""

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint import (
    GaussianHeadS8,
    Multiplier,
    Standardize,
    inverse_sigma_q9_table,
    quantize_multiplier,
    quantize_multipliers_shared,
)
from snapcli.graph import Tensor
from snapcli.heads.head import Head
from snapcli.heads.prediction import VARIANCE_RANGE

Array = NDArray[np.float64]
_Q10, _Q16 = 1 << 10, 1 << 16
# A shifted input may drive the latent this far beyond what clean data shows before it saturates.
_LATENT_HEADROOM = 4.0
# The least range of the latent, for a projector that gives (next to) nothing.
_LATENT_LEAST = 1e-3
# Half of the accumulator's range is the bias's (SPEC 1.3).
_BIAS_LIMIT = 2**30
# The range of xi on clean data is widened by this share on both sides.
_XI_MARGIN = 0.5


def folds(rank: int, channels_before: int, channels_after: int) -> bool:
    """Whether one product of projector and heads is smaller and faster than the two."""
    return rank * (channels_before + 2 * channels_after) >= 2 * channels_before * channels_after


def quantize_head(
    head: Head, before: Tensor, after: Tensor, sums: NDArray[np.int32]
) -> GaussianHeadS8:
    """sums [n, channels before]: exact pooled sums of clean training data, which set the ranges."""
    rank, channels_before = head.projector.shape
    channels_after = len(head.mean_bias)
    pooled = sums.astype(np.float64) * (before.scale / before.positions)
    fold = folds(rank, channels_before, channels_after)
    if fold:
        projector, latent = np.zeros((0, channels_before), np.int8), Multiplier(0, 0)
        mean_real, xi_real = head.mean_weights @ head.projector, head.xi_weights @ head.projector
        latent_scale = 1.0 / _Q10
    else:
        projector, projector_scale = _int8(head.projector)
        reach = max(float(np.abs(head.latent(pooled)).max()), _LATENT_LEAST)
        latent_scale = _LATENT_HEADROOM * reach / 32767
        latent = quantize_multiplier(projector_scale / _Q10 / latent_scale)
        mean_real, xi_real = head.mean_weights, head.xi_weights
    mean_weights, mean_scale = _int8(mean_real)
    least = float(np.abs(head.xi_bias).max()) / (_BIAS_LIMIT * latent_scale)
    xi_weights, xi_weight_scale = _int8(xi_real, least)
    xi_scale, xi_zero_point = xi_steps(head.xi(pooled))
    return GaussianHeadS8(
        in_channels=channels_before,
        channels=channels_after,
        rank=0 if fold else rank,
        before=_standardize(before, head.before_deviation, head.before_mean, _Q10),
        after=_standardize(
            after,
            head.after_deviation,
            head.after_mean + head.mean_bias * head.after_deviation,
            _Q16,
        ),
        projector=projector,
        latent=latent,
        mean_weights=mean_weights,
        mean=quantize_multiplier(mean_scale * latent_scale * _Q16),
        xi_weights=xi_weights,
        xi_bias=np.rint(head.xi_bias / (xi_weight_scale * latent_scale)).astype(np.int32),
        xi=quantize_multiplier(xi_weight_scale * latent_scale / xi_scale),
        xi_zero_point=xi_zero_point,
        inverse_sigma_q9=inverse_sigma_q9_table(xi_scale, xi_zero_point),
    )


def _int8(weights: Array, least: float = 0.0) -> tuple[NDArray[np.int8], float]:
    """Symmetric, one scale per tensor, not below least."""
    scale = max(float(np.abs(weights).max()) / 127, least, 1e-8)
    return np.rint(weights / scale).astype(np.int8), scale


def _standardize(tensor: Tensor, deviation: Array, mean: Array, one: int) -> Standardize:
    """(pooled - mean) / deviation as a function of the pooled integer sum."""
    mantissa, shift = quantize_multipliers_shared(tensor.scale / tensor.positions / deviation * one)
    return Standardize(mantissa, np.rint(-mean / deviation * one).astype(np.int32), shift)


def xi_steps(xi: Array) -> tuple[float, int]:
    """(scale, zero point) of 256 steps over the range of clean data and its margin."""
    low, high = float(xi.min()), float(xi.max())
    margin = _XI_MARGIN * (high - low) + 0.05
    # softplus(xi) = v at xi = ln(exp(v) - 1): beyond these ends the table is clamped anyway.
    ends = [np.log(np.expm1(min(v, 50.0))) for v in VARIANCE_RANGE]
    low, high = max(low - margin, float(ends[0])), min(high + margin, float(ends[1]))
    scale = max(high - low, 1e-3) / 255
    return scale, round(-128 - low / scale)
