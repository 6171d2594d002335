"""Product of two tensors (SPEC 1.2) <-> snapuq_mul_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.add import repeated
from snapcli.fixedpoint.requantize import Multiplier, quantize_multiplier, requantize


@dataclass(frozen=True)
class MulS8:
    """The fields of struct snapuq_mul_s8; a shorter operand repeats until `length` is reached."""

    length: int
    in1_length: int
    in2_length: int
    in1_zero_point: int
    in2_zero_point: int
    multiplier: Multiplier
    out_zero_point: int
    min: int
    max: int


def mul_multiplier(in1_scale: float, in2_scale: float, out_scale: float) -> Multiplier:
    """The multiplier of MulS8. TFLite computes in1 * in2 / out in float32, not in double."""
    real = np.float32(in1_scale) * np.float32(in2_scale) / np.float32(out_scale)
    return quantize_multiplier(float(real))


def mul_s8(layer: MulS8, x1: NDArray[np.int8], x2: NDArray[np.int8]) -> NDArray[np.int8]:
    """x1 int8 [N, in1_length], x2 int8 [N, in2_length] -> int8 [N, length].

    A constant operand may have N = 1.
    """
    first = repeated(x1, layer.in1_zero_point, layer.length)
    second = repeated(x2, layer.in2_zero_point, layer.length)
    scaled = requantize(first * second, layer.multiplier.mantissa, layer.multiplier.shift)
    return np.clip(scaled + layer.out_zero_point, layer.min, layer.max).astype(np.int8)
