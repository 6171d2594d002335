"""Between float32 and int8 at the ends of a network (SPEC 1.2).

<-> snapuq_quantize_f32_s8.c, snapuq_dequantize_s8_f32.c
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class QuantizeF32S8:
    """QUANTIZE; scale is a float32."""

    length: int
    scale: float
    zero_point: int


@dataclass(frozen=True)
class DequantizeS8F32:
    """DEQUANTIZE; scale is a float32."""

    length: int
    scale: float
    zero_point: int


def quantize_f32_s8(layer: QuantizeF32S8, x: NDArray[np.float32]) -> NDArray[np.int8]:
    """x float32 of any shape -> int8 of that shape, rounded half away from zero.

    Everything beyond the range saturates; what is not a number becomes -128.
    """
    with np.errstate(over="ignore"):
        steps = np.clip(x / np.float32(layer.scale), -256, 256)
    steps = np.where(np.isnan(steps), -256, steps).astype(np.float64)
    away = np.copysign(np.floor(np.abs(steps) + 0.5), steps).astype(np.int64)
    return np.clip(away + layer.zero_point, -128, 127).astype(np.int8)


def dequantize_s8_f32(layer: DequantizeS8F32, x: NDArray[np.int8]) -> NDArray[np.float32]:
    """x int8 of any shape -> float32 of that shape."""
    return (x.astype(np.float32) - np.float32(layer.zero_point)) * np.float32(layer.scale)
