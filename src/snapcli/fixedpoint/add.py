"""Sum and difference of two tensors (SPEC 1.2) <-> snapuq_add_s8.c, snapuq_sub_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.errors import ConfigError
from snapcli.fixedpoint.requantize import Multiplier, quantize_multiplier, requantize

LEFT_SHIFT = 20  # fractional bits that both operands get before they are scaled


@dataclass(frozen=True)
class AddS8:
    """The fields of struct snapuq_add_s8; a shorter operand repeats until `length` is reached.

    in1, in2: operand << 20 to twice the larger of the two scales; out: from there to the
    output's scale.
    """

    length: int
    in1_length: int
    in2_length: int
    in1_zero_point: int
    in2_zero_point: int
    in1: Multiplier
    in2: Multiplier
    out: Multiplier
    out_zero_point: int
    min: int
    max: int


def add_multipliers(
    in1_scale: float, in2_scale: float, out_scale: float
) -> tuple[Multiplier, Multiplier, Multiplier]:
    """(in1, in2, out) of AddS8; scales count as float32."""
    first, second, output = (float(np.float32(s)) for s in (in1_scale, in2_scale, out_scale))
    common = 2 * max(first, second)
    out = quantize_multiplier(common / (2**LEFT_SHIFT * output))
    if out.shift > 0:
        raise ConfigError(
            f"the output scale {output} is too small for the input scales {first} and {second}",
            "Quantize the model with representative data.",
        )
    return quantize_multiplier(first / common), quantize_multiplier(second / common), out


def add_s8(layer: AddS8, x1: NDArray[np.int8], x2: NDArray[np.int8]) -> NDArray[np.int8]:
    """x1 int8 [N, in1_length], x2 int8 [N, in2_length] -> int8 [N, length].

    A constant operand may have N = 1.
    """
    first, second = _scaled(layer, x1, x2)
    return _output(layer, first + second)


def sub_s8(layer: AddS8, x1: NDArray[np.int8], x2: NDArray[np.int8]) -> NDArray[np.int8]:
    """x1 - x2; shapes as for add_s8."""
    first, second = _scaled(layer, x1, x2)
    return _output(layer, first - second)


def repeated(x: NDArray[np.int8], zero_point: int, length: int) -> NDArray[np.int64]:
    """x int8 [N, n] minus its zero point, repeated along the last axis to int64 [N, length]."""
    return np.tile(x.astype(np.int64) - zero_point, length // x.shape[1])


def _scaled(
    layer: AddS8, x1: NDArray[np.int8], x2: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first = repeated(x1, layer.in1_zero_point, layer.length) << LEFT_SHIFT
    second = repeated(x2, layer.in2_zero_point, layer.length) << LEFT_SHIFT
    return (
        requantize(first, layer.in1.mantissa, layer.in1.shift),
        requantize(second, layer.in2.mantissa, layer.in2.shift),
    )


def _output(layer: AddS8, total: NDArray[np.int64]) -> NDArray[np.int8]:
    scaled = requantize(total, layer.out.mantissa, layer.out.shift)
    return np.clip(scaled + layer.out_zero_point, layer.min, layer.max).astype(np.int8)
