"""Multiplication by a real number in integers (SPEC 1.1) <-> snapuq_requantize.c."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
SHIFT_MIN, SHIFT_MAX = -31, 30


@dataclass(frozen=True)
class Multiplier:
    """The real number mantissa * 2^(shift - 31); mantissa in [0, 2^31), shift in [-31, 30]."""

    mantissa: int
    shift: int


def requantize(value: ArrayLike, mantissa: ArrayLike, shift: ArrayLike) -> NDArray[np.int64]:
    """value * mantissa * 2^(shift - 31) with TFLite's two roundings.

    value: int32 range, any shape. mantissa [0, 2^31) and shift [-31, 30] broadcast against
    it. Returns int64 of the broadcast shape, within the range of int32.
    """
    shift = np.asarray(shift, np.int64)
    right = np.maximum(-shift, 0)
    wide = np.asarray(value, np.int64)
    if np.any(shift > 0):
        wide = np.clip(wide << np.maximum(shift, 0), INT32_MIN, INT32_MAX)
    # The sign-dependent nudge and truncation of gemmlowp amount to rounding half up.
    high = (wide * np.asarray(mantissa, np.int64) + (1 << 30)) >> 31
    half = (np.int64(1) << right) >> 1
    return (high + half - ((high < 0) & (right > 0))) >> right


def requantize_once(value: ArrayLike, mantissa: ArrayLike, shift: ArrayLike) -> NDArray[np.int64]:
    """value * mantissa * 2^(shift - 31), rounded once, half away from zero.

    Arguments as for requantize. Returns int64 of the broadcast shape, saturated to int32.
    """
    product = np.asarray(value, np.int64) * np.asarray(mantissa, np.int64)
    right = 31 - np.asarray(shift, np.int64)
    rounded = (product + (np.int64(1) << (right - 1)) - (product < 0)) >> right
    return np.clip(rounded, INT32_MIN, INT32_MAX)


def quantize_multiplier(real: float) -> Multiplier:
    """The multiplier nearest to real >= 0, as TFLite's QuantizeMultiplier finds it.

    Below 2^-32 it is zero; at 2^30 and above it is the largest there is.
    """
    fraction, shift = math.frexp(real)
    mantissa = math.floor(fraction * 2**31 + 0.5)
    if mantissa == 2**31:
        mantissa, shift = 2**30, shift + 1
    if shift < SHIFT_MIN:
        return Multiplier(0, 0)
    if shift > SHIFT_MAX:
        return Multiplier(INT32_MAX, SHIFT_MAX)
    return Multiplier(mantissa, shift)


def quantize_multipliers(real: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """quantize_multiplier of each element: (mantissa int32, shift int8), the shape of real [C]."""
    fraction, shift = np.frexp(np.asarray(real, np.float64))
    mantissa = np.floor(fraction * 2**31 + 0.5)
    carried = mantissa == 2**31
    mantissa, shift = np.where(carried, 2**30, mantissa), shift + carried
    small, large = shift < SHIFT_MIN, shift > SHIFT_MAX
    mantissa = np.where(small, 0, np.where(large, INT32_MAX, mantissa))
    shift = np.where(small, 0, np.minimum(shift, SHIFT_MAX))
    return mantissa.astype(np.int32), shift.astype(np.int8)


def quantize_multipliers_shared(real: ArrayLike) -> tuple[NDArray[np.int32], int]:
    """Multipliers with one shift, that of the largest: (mantissa int32 [C], shift).

    real [C] >= 0. An element 2^k below the largest keeps 31 - k bits.
    """
    reals = np.asarray(real, np.float64)
    shift = quantize_multiplier(float(reals.max())).shift
    mantissa = np.floor(reals * 2.0 ** (31 - shift) + 0.5)
    return np.minimum(mantissa, INT32_MAX).astype(np.int32), shift
