"""A fitted head in the device's numbers: float parameters -> DeviceHead."""

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.errors import ConfigError
from snapcli.fixedpoint import (
    BIAS_LIMIT,
    CHANNELS_MAX,
    INPUTS_MAX,
    DeviceHead,
    HeadS8,
    Multiplier,
    Standardize,
    inverse_sigma_q9_table,
    quantize_multiplier,
    quantize_multipliers_shared,
)
from snapcli.graph import Tensor
from snapcli.heads.head import Head
from snapcli.heads.likelihood import VARIANCE_RANGE, LinearS8
from snapcli.heads.mixture import COMPONENTS_MAX

_Q10, _Q16 = 1 << 10, 1 << 16
# A shifted input may drive the latent this far beyond what clean data shows before it saturates.
_LATENT_HEADROOM = 4.0
# The least range of the latent, for a projector that gives (next to) nothing.
_LATENT_LEAST = 1e-3
# The range of xi on clean data is widened by this share on both sides.
_XI_MARGIN = 0.5


def folds(rank: int, channels_before: int, rows: int) -> bool:
    """Whether one product of projector and heads is smaller and faster than the two."""
    return rank * (channels_before + 2 * rows) >= 2 * channels_before * rows


def quantize_head(head: Head, before: Tensor, after: Tensor, sums: NDArray[np.int32]) -> DeviceHead:
    """sums [n, channels before]: exact pooled sums of clean training data, which set the ranges."""
    rank, channels_before = head.projector.shape
    rows, channels = len(head.mean_bias), len(head.after_mean)
    _check(head)
    pooled = before.channel_means(sums)
    fold = folds(rank, channels_before, rows)
    if fold:
        projector, latent = np.zeros((0, channels_before), np.int8), Multiplier(0, 0)
        latent_scale = 1.0 / _Q10
    else:
        projector, projector_scale = _int8(head.projector)
        reach = max(float(np.abs(head.latent(pooled)).max()), _LATENT_LEAST)
        latent_scale = _LATENT_HEADROOM * reach / 32767
        latent = quantize_multiplier(projector_scale / _Q10 / latent_scale)

    def seen(weights: Array) -> Array:
        """Weights of the latent as weights of what the head's rows read."""
        return weights @ head.projector if fold else weights

    def linear(weights: Array, bias: Array) -> LinearS8:
        integer, integer_bias, unit = _linear(seen(weights), bias, latent_scale)
        return LinearS8(integer, integer_bias, quantize_multiplier(unit * _Q16))

    mean_weights, mean_scale = _int8(seen(head.mean_weights))
    xi_weights, xi_bias, xi_unit = _linear(seen(head.xi_weights), head.xi_bias, latent_scale)
    xi_scale, xi_zero_point = xi_steps(head.xi(pooled))
    class_mean, class_scale = _int8(head.class_mean)
    # What the rows of a component add to the standardized activation of its channels.
    offset = np.tile(-head.after_mean / head.after_deviation, rows // channels) - head.mean_bias
    residual = HeadS8(
        in_channels=channels_before,
        channels=channels,
        components=rows // channels,
        rank=0 if fold else rank,
        before=_standardize(
            before, head.before_deviation, -head.before_mean / head.before_deviation, _Q10
        ),
        after=_standardize(after, head.after_deviation, offset, _Q16),
        projector=projector,
        latent=latent,
        mean_weights=mean_weights,
        mean=quantize_multiplier(mean_scale * latent_scale * _Q16),
        xi_weights=xi_weights,
        xi_bias=xi_bias,
        xi=quantize_multiplier(xi_unit / xi_scale),
        xi_zero_point=xi_zero_point,
        inverse_sigma_q9=inverse_sigma_q9_table(xi_scale, xi_zero_point),
        class_mean=class_mean,
        class_scale=quantize_multiplier(class_scale * _Q16),
    )
    return DeviceHead(residual, head.likelihood.quantized(linear))


def _check(head: Head) -> None:
    """The device's limits (SPEC 1.3), where no option has checked them before."""
    rank, channels_before = head.projector.shape
    for what, size, limit in (
        ("statistics before the block", channels_before, INPUTS_MAX),
        ("dimensions in its projector", rank, INPUTS_MAX),
        ("statistics after the block", len(head.after_mean), CHANNELS_MAX),
        ("components", head.likelihood.components, COMPONENTS_MAX),
    ):
        if size > limit:
            raise ConfigError(
                f"the head of {head.after} has {size} {what}: the device takes {limit}",
                "Choose other taps or a smaller head.",
            )


def _linear(
    weights: Array, bias: Array, latent_scale: float
) -> tuple[NDArray[np.int8], NDArray[np.int32], float]:
    """(int8 weights, int32 bias, the real number that one step of the accumulator is)."""
    least = float(np.abs(bias).max()) / (BIAS_LIMIT * latent_scale)
    integer, scale = _int8(weights, least)
    unit = scale * latent_scale
    return integer, np.rint(bias / unit).astype(np.int32), unit


def _int8(weights: Array, least: float = 0.0) -> tuple[NDArray[np.int8], float]:
    """Symmetric, one scale per tensor, not below least."""
    scale = max(float(np.abs(weights).max(initial=0.0)) / 127, least, 1e-8)
    return np.rint(weights / scale).astype(np.int8), scale


def _standardize(tensor: Tensor, deviation: Array, offset: Array, one: int) -> Standardize:
    """pooled / deviation + offset as a function of the pooled integer sum."""
    mantissa, shift = quantize_multipliers_shared(tensor.scale / tensor.positions / deviation * one)
    return Standardize(mantissa, np.rint(offset * one).astype(np.int32), shift)


def xi_steps(xi: Array) -> tuple[float, int]:
    """(scale, zero point) of 256 steps over the range of clean data and its margin."""
    low, high = float(xi.min()), float(xi.max())
    margin = _XI_MARGIN * (high - low) + 0.05
    # softplus(xi) = v at xi = ln(exp(v) - 1): beyond these ends the table is clamped anyway.
    ends = [np.log(np.expm1(min(v, 50.0))) for v in VARIANCE_RANGE]
    low, high = max(low - margin, float(ends[0])), min(high + margin, float(ends[1]))
    scale = max(high - low, 1e-3) / 255
    return scale, round(-128 - low / scale)
