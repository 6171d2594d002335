"""Functions of one int8 element as tables (SPEC 1.2) <-> snapuq_lut_s8.c.

Each builder does what TFLite's reference kernel does, float32 roundings included, to all
256 values: int8 [256], entry q + 128. Scales count as float32.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.errors import ConfigError
from snapcli.fixedpoint.output import activation_range
from snapcli.fixedpoint.requantize import Multiplier, quantize_multiplier, requantize

INPUTS = np.arange(-128, 128, dtype=np.int64)
INT16_MIN, INT16_MAX = -(2**15), 2**15 - 1


@dataclass(frozen=True)
class Quantization:
    """The real number scale * (q - zero_point)."""

    scale: float
    zero_point: int


@dataclass(frozen=True, eq=False)
class LutS8:
    """table int8 [256], entry q + 128, for `length` elements."""

    length: int
    table: NDArray[np.int8]


def lut_s8(layer: LutS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 of any shape -> int8 of that shape."""
    return layer.table[x.astype(np.int64) + 128]


def logistic_table(source: Quantization, to: Quantization) -> NDArray[np.int8]:
    """LOGISTIC; the reference kernel allows the output scale 1/256 alone."""
    if to.scale != 1 / 256:
        raise ConfigError(
            f"a logistic function cannot have the output scale {to.scale}", "It must be 1/256."
        )

    def logistic(real: NDArray[np.float32]) -> NDArray[np.float32]:
        one = np.float32(1)
        power = np.minimum(-real.astype(np.float64), 88)  # beyond it the result is 0 all the same
        return one / (one + np.exp(power).astype(np.float32))

    return _float_table(logistic, source, to)


def tanh_table(source: Quantization, to: Quantization) -> NDArray[np.int8]:
    """TANH."""

    def tanh(real: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tanh(real.astype(np.float64)).astype(np.float32)

    return _float_table(tanh, source, to)


def requantize_table(source: Quantization, to: Quantization) -> NDArray[np.int8]:
    """QUANTIZE from int8 to int8: the same numbers in another scale."""
    ratio = float(np.float32(source.scale)) / float(np.float32(to.scale))
    return _placed(_scaled(INPUTS - source.zero_point, quantize_multiplier(ratio)), to)


def relu_table(activation: str, source: Quantization, to: Quantization) -> NDArray[np.int8]:
    """RELU or RELU6, activation "relu" or "relu6". The ratio of scales is a float32."""
    ratio = float(np.float32(source.scale) / np.float32(to.scale))
    limits = activation_range(activation, to.scale, to.zero_point)
    return _placed(_scaled(INPUTS - source.zero_point, quantize_multiplier(ratio)), to, limits)


def leaky_relu_table(alpha: float, source: Quantization, to: Quantization) -> NDArray[np.int8]:
    """LEAKY_RELU. Both ratios are float32."""
    in_scale, out_scale = np.float32(source.scale), np.float32(to.scale)
    centred = INPUTS - source.zero_point
    positive = _scaled(centred, quantize_multiplier(float(in_scale / out_scale)))
    with np.errstate(over="ignore", invalid="ignore"):
        steep = float(in_scale * np.float32(alpha) / out_scale)
    if not abs(steep) < 2.0**30:
        raise ConfigError(f"a leaky relu cannot have the slope {alpha}", "Use one from -1 to 1.")
    slope = quantize_multiplier(steep)
    return _placed(np.where(centred < 0, _scaled(centred, slope), positive), to)


def hard_swish_table(source: Quantization, to: Quantization) -> NDArray[np.int8]:
    """HARD_SWISH, x * relu6(x + 3) / 6, in 16 bits."""
    fine_scale = np.float32(source.scale) * np.float32(1 / 128)
    out = quantize_multiplier(float(fine_scale / np.float32(to.scale)))
    gate = quantize_multiplier(float(fine_scale / (np.float32(3) / np.float32(32768))))
    if out.shift > 0:
        raise ConfigError(
            f"hard swish cannot go from scale {source.scale} to {to.scale}",
            "Quantize the model with representative data.",
        )
    fine = (INPUTS - source.zero_point) << 7
    value = _high_mul16(fine, _mantissa16(out))
    # relu6(x + 3) / 6: scaled so that 3.0 is 2^15, saturated, then moved from [-1, 1] to [0, 1].
    left, right = max(gate.shift, 0), max(-gate.shift, 0)
    raised = _sat16(fine << max(left - 1, 0))
    raised = _high_mul16(raised, _mantissa16(gate))
    raised = _sat16(raised << min(left, 1))
    factor = (_divided16(raised, right) + 2**15) >> 1
    product = factor * value
    truncated = np.sign(product) * (np.abs(product) >> 15)
    return _placed(_divided16(truncated, -out.shift), to)


def _float_table(
    function: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    source: Quantization,
    to: Quantization,
) -> NDArray[np.int8]:
    real = np.float32(source.scale) * (INPUTS - source.zero_point).astype(np.float32)
    steps = function(real) * (np.float32(1) / np.float32(to.scale))
    away = np.copysign(np.floor(np.abs(steps.astype(np.float64)) + 0.5), steps)
    return _placed(np.clip(away, -(2**24), 2**24).astype(np.int64), to)


def _scaled(value: NDArray[np.int64], multiplier: Multiplier) -> NDArray[np.int64]:
    return requantize(value, multiplier.mantissa, multiplier.shift)


def _placed(
    value: NDArray[np.int64], to: Quantization, limits: tuple[int, int] = (-128, 127)
) -> NDArray[np.int8]:
    return np.clip(value + to.zero_point, *limits).astype(np.int8)


def _mantissa16(multiplier: Multiplier) -> int:
    """The mantissa with 15 bits instead of 31."""
    return min((multiplier.mantissa + 2**15) >> 16, INT16_MAX)


def _high_mul16(a: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """The product of two Q15 numbers, rounded half up."""
    return (a * b + (1 << 14)) >> 15


def _sat16(value: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(value, INT16_MIN, INT16_MAX)


def _divided16(value: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """value / 2^bits in int16, rounded half away from zero.

    From 16 bits on the mask of gemmlowp's remainder overflows, and everything becomes 1 or -1.
    """
    if bits > 15:
        return np.where(value < 0, -1, 1)
    half = (1 << bits) >> 1
    return (value + half - ((value < 0) & (bits > 0))) >> bits
