"""How an accumulator becomes an int8 output channel <-> struct snapuq_output_s8.

The functions that derive the parameters do what TFLite does when it prepares a
kernel, float32 roundings included, because the reference kernels are the oracle.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snapcli.errors import ConfigError
from snapcli.fixedpoint.requantize import quantize_multipliers


@dataclass(frozen=True, eq=False)
class OutputS8:
    """Bias, requantization, zero point and fused activation of [channels] outputs."""

    bias: NDArray[np.int32]
    mantissa: NDArray[np.int32]
    shift: NDArray[np.int8]
    zero_point: int
    min: int
    max: int


def output_s8(out: OutputS8, scaled: NDArray[np.int64]) -> NDArray[np.int8]:
    """scaled [..., channels], the requantized accumulator -> int8 of that shape."""
    return np.clip(scaled + out.zero_point, out.min, out.max).astype(np.int8)


def output_multipliers(
    in_scale: float, weight_scales: ArrayLike, out_scale: float, channels: int
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """(mantissa, shift), each [channels], of a convolution or a fully connected layer.

    weight_scales: one per output channel, or one for all. Scales count as float32;
    TFLite multiplies and divides them in double.
    """
    weights = np.asarray(weight_scales, np.float32).astype(np.float64)
    real = np.float64(np.float32(in_scale)) * weights / np.float64(np.float32(out_scale))
    return quantize_multipliers(np.broadcast_to(real, channels))


def activation_range(activation: str, scale: float, zero_point: int) -> tuple[int, int]:
    """(min, max) in [-128, 127] that fuse "none", "relu", "relu6" or "relu_n1_to_1"."""
    limits: dict[str, tuple[float | None, float | None]] = {
        "none": (None, None),
        "relu": (0.0, None),
        "relu6": (0.0, 6.0),
        "relu_n1_to_1": (-1.0, 1.0),
    }
    if activation not in limits:
        raise ConfigError(
            f"cannot fuse activation {activation!r}", f"use one of {', '.join(limits)}"
        )

    def step(real: float) -> int:
        steps = math.floor(float(np.float32(abs(real)) / np.float32(scale)) + 0.5)
        return zero_point + (steps if real >= 0 else -steps)

    low, high = limits[activation]
    return (
        -128 if low is None else max(-128, step(low)),
        127 if high is None else min(127, step(high)),
    )
