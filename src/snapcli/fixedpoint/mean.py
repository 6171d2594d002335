"""MEAN over neighbouring axes (SPEC 1.2) <-> snapuq_mean_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.pool_sum import pool_sum_s8
from snapcli.fixedpoint.requantize import SHIFT_MIN, Multiplier, quantize_multiplier, requantize


@dataclass(frozen=True)
class MeanS8:
    """Each of the rows [positions, channels] becomes one of [channels].

    Over height and width positions = height * width; multiplier is
    in_scale / out_scale / positions.
    """

    positions: int
    channels: int
    in_zero_point: int
    out_zero_point: int
    multiplier: Multiplier
    rows: int = 1


def mean_multiplier(in_scale: float, out_scale: float, positions: int) -> Multiplier:
    """The multiplier of MeanS8, rounded as TFLite rounds it; scales count as float32.

    TFLite quantizes the ratio of the scales first and divides the mantissa by the count
    afterwards, so the mantissa may lie below 2^30.
    """
    ratio = quantize_multiplier(float(np.float32(in_scale)) / float(np.float32(out_scale)))
    up = min(positions.bit_length() - 1, 32, ratio.shift - SHIFT_MIN)
    return Multiplier((ratio.mantissa << up) // positions, ratio.shift - up)


def mean_s8(layer: MeanS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, ...], a sample as [rows, positions, channels] -> int8 [N, rows * channels]."""
    rows = x.reshape(len(x) * layer.rows, layer.positions, layer.channels)
    total = pool_sum_s8(rows, layer.in_zero_point).reshape(len(x), -1)
    scaled = requantize(total, layer.multiplier.mantissa, layer.multiplier.shift)
    return np.clip(scaled + layer.out_zero_point, -128, 127).astype(np.int8)
