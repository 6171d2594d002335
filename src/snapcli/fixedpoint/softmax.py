"""SOFTMAX over the last axis (SPEC 1.2) <-> snapuq_softmax_s8.c.

The reference kernel computes with gemmlowp's fixed-point polynomials. Its exponential
depends on the distance to the largest logit alone, so it becomes a table here.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.errors import ConfigError
from snapcli.fixedpoint.requantize import INT32_MAX, quantize_multiplier, requantize

CLASSES_MAX = 4095  # so that the sum of exponentials, Q19, fits int32

# exp(-2^k) for k = -2..4, Q31
_EXP_POWERS_Q31 = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_EXP_EIGHTH_Q31 = 1895147668  # exp(-1/8)
_THIRD_Q31 = 715827883


@dataclass(frozen=True, eq=False)
class SoftmaxS8:
    """exp_q31 int32 [256]: exp(-d * step) of a logit d steps below the largest."""

    positions: int
    classes: int
    exp_q31: NDArray[np.int32]


def softmax_of(positions: int, classes: int, in_scale: float, beta: float) -> SoftmaxS8:
    """The softmax of logits with a float32 scale; the output has scale 1/256, zero point -128."""
    if not 1 <= classes <= CLASSES_MAX:
        raise ConfigError(
            f"cannot compute a softmax of {classes} classes", f"Use 1 to {CLASSES_MAX}."
        )
    step = float(np.float32(in_scale)) * float(np.float32(beta))
    return SoftmaxS8(positions, classes, _exp_q31_table(step))


def softmax_s8(layer: SoftmaxS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, ..., classes] with `positions` in between -> int8 of that shape."""
    wide = x.astype(np.int64)
    exp_q31 = layer.exp_q31[wide.max(axis=-1, keepdims=True) - wide].astype(np.int64)
    total_q19 = ((exp_q31 + (1 << 11)) >> 12).sum(axis=-1, keepdims=True)
    headroom = 32 - np.frexp(total_q19.astype(np.float64))[1].astype(np.int64)
    reciprocal_q31 = _reciprocal_q31(total_q19 << headroom)
    # With a sum of 512 or more, where TFLite gives up, every result is 0 or 1 step.
    shift = -np.minimum(35 - headroom, 31)
    steps = requantize(exp_q31, reciprocal_q31, shift)
    return np.clip(steps - 128, -128, 127).astype(np.int8)


def _reciprocal_q31(denominator_q31: NDArray[np.int64]) -> NDArray[np.int64]:
    """1 / d, Q31, of d in [1, 2), Q31, by three steps of Newton's method."""
    half = denominator_q31 >> 1
    x_q29 = 1515870810 + _high_mul(half, -1010580540)  # 48/17 - 32/17 * half
    for _ in range(3):
        x_q29 = x_q29 + (_high_mul(x_q29, (1 << 29) - _high_mul(half, x_q29)) << 2)
    return np.minimum(x_q29 << 1, INT32_MAX)


def _exp_q31_table(step: float) -> NDArray[np.int32]:
    """exp(-d * step), Q31, for d = 0..255, zero from 31 on."""
    multiplier = quantize_multiplier(min(step * 2**26, 2.0**31 - 1))
    if multiplier.shift < 1:
        raise ConfigError(
            f"a softmax with steps of {step} is flat", "Check the scale of its input and its beta."
        )
    steps = np.arange(256, dtype=np.int64)
    x_q26 = _high_mul(-steps << multiplier.shift, multiplier.mantissa)
    # x = rest - remainder, rest in [-1/4, 0): a polynomial, and a factor per bit of remainder.
    quarter = 1 << 24
    rest_q26 = (x_q26 & (quarter - 1)) - quarter
    remainder_q26 = rest_q26 - x_q26
    result = _exp_near_eighth_q31((rest_q26 << 5) + (1 << 28))
    for bit, factor in enumerate(_EXP_POWERS_Q31, start=24):
        result = np.where(remainder_q26 & (1 << bit), _high_mul(result, factor), result)
    result[x_q26 == 0] = INT32_MAX
    result[steps > math.floor(31 * 2.0 ** (26 - multiplier.shift))] = 0
    return result.astype(np.int32)


def _exp_near_eighth_q31(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """exp(x - 1/8), Q31, for x in [-1/8, 1/8), Q31: Taylor's series up to x^4."""
    x2 = _high_mul(x, x)
    x3 = _high_mul(x2, x)
    x4 = _high_mul(x2, x2)
    tail = _half(_high_mul(_half(x4, 2) + x3, _THIRD_Q31) + x2, 1)
    return _EXP_EIGHTH_Q31 + _high_mul(x + tail, _EXP_EIGHTH_Q31)


def _high_mul(a: NDArray[np.int64], b: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """The product of two Q31 numbers, rounded half up."""
    return (a * b + (1 << 30)) >> 31


def _half(value: NDArray[np.int64], times: int) -> NDArray[np.int64]:
    """value / 2^times, rounded half away from zero."""
    return (value + (1 << (times - 1)) - (value < 0)) >> times
