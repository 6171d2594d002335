"""Weights and requantization in the form that the kernels of snapnn.h take.

Every function returns None where the packed form could overflow or round otherwise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint import AddS8, FullyConnectedS8, Multiplier, OutputS8
from snapcli.fixedpoint.requantize import INT32_MAX

Words = NDArray[np.uint32]

QUAD = 4
# Taps of a 3x3 window in the order in which snapnn_quads.c takes them.
TAP_ORDER = ((0, 1), (0, 2), (0, 0), (1, 1), (1, 2), (1, 0), (2, 1), (2, 2), (2, 0))

_SHIFT_MAX = 22
_NO_SCALE = Multiplier(1 << 30, -1)
# What input1 of a sum is shifted by: its multiplier of one half, of 2^20.
_SUM_SHIFT = 19


@dataclass(frozen=True)
class SnapnnScale:
    """Fields of struct snapnn_scale."""

    multiplier: int
    rounding: int
    shift: int


@dataclass(frozen=True)
class SnapnnAdd:
    """How the operands of struct snapnn_add_s8 become a sum; swapped: input1 is ADD's second."""

    offset: int
    factor: int
    in2_offset: int
    in2: SnapnnScale
    out: SnapnnScale
    swapped: bool


def scale_of(multiplier: Multiplier, zero_point: int, bound: int) -> SnapnnScale | None:
    """For accumulators up to +-bound."""
    shift = -multiplier.shift
    if not 1 <= shift <= _SHIFT_MAX or multiplier.mantissa < 1 << 30:
        return None
    rounding = (zero_point << shift) + (1 << (shift - 1))
    if bound + abs(rounding) + 1 > INT32_MAX:
        return None
    return SnapnnScale(2 * multiplier.mantissa - 2**32, rounding, shift)


def pack_conv(weights: NDArray[np.int8], in_zero_point: int, out: OutputS8) -> Words | None:
    """weights [channels, inputs] of a convolution -> blocks of struct snapnn_matrix."""
    folded = _folded(weights, in_zero_point, out)
    if folded is None:
        return None
    weights, bias, scales = folded
    return _blocks(weights, bias, _scale_words(scales))


def pack_fully_connected(layer: FullyConnectedS8) -> Words | None:
    """The same of a layer that is rounded once."""
    bias, bound = _bias_of(layer.weights, layer.in_zero_point, layer.out)
    if bound.max() > INT32_MAX:
        return None
    right = 31 - layer.out.shift.astype(np.int64)
    scales = np.stack([layer.out.mantissa, np.zeros_like(right), right], axis=1)
    return _blocks(layer.weights, bias, scales.astype(np.int32))


def pack_depthwise_3x3(
    weights: NDArray[np.int8], in_zero_point: int, out: OutputS8
) -> Words | None:
    """weights [3, 3, channels], at least four -> the words of struct snapnn_depthwise_3x3_s8."""
    channels = weights.shape[-1]
    by_channel = np.stack([weights[tap] for tap in TAP_ORDER], axis=1)
    folded = _folded(by_channel, in_zero_point, out)
    if folded is None:
        return None
    by_channel, bias, scales = folded
    starts = list(range(0, channels - QUAD + 1, QUAD))
    if channels % QUAD:
        starts.append(channels - QUAD)
    words = []
    for start in starts:
        four = slice(start, start + QUAD)
        taps = by_channel[four].astype(np.int16)
        # [4 pairs of taps, 4 channels, 2]: a word holds two taps of one channel.
        pairs = taps[:, :8].reshape(QUAD, 4, 2).transpose(1, 0, 2)
        last = taps[[0, 2, 1, 3], 8]
        words += [
            bias[four].view(np.uint32),
            np.ascontiguousarray(pairs).view(np.uint32).ravel(),
            np.ascontiguousarray(last).view(np.uint32),
            _scale_words(scales[four]).view(np.uint32).ravel(),
        ]
    return np.concatenate(words)


def pack_add(add: AddS8) -> SnapnnAdd | None:
    """Operands of one length; one of them has the larger scale, whose multiplier is one half."""
    half = Multiplier(1 << 30, 0)
    if add.in1 == half:
        zero1, zero2, other, swapped = add.in1_zero_point, add.in2_zero_point, add.in2, False
    elif add.in2 == half:
        zero1, zero2, other, swapped = add.in2_zero_point, add.in1_zero_point, add.in1, True
    else:
        return None
    factor = 1 << (_SUM_SHIFT + 1)
    if other == half:
        # One bit more that the shift takes away again: there is nothing to round.
        factor, other = 2 * factor, Multiplier(1 << 30, -1)
    in2 = scale_of(other, 0, 255 * factor)
    out = scale_of(add.out, add.out_zero_point, 2 * 255 << _SUM_SHIFT)
    if in2 is None or out is None:
        return None
    return SnapnnAdd(-(zero1 << _SUM_SHIFT), factor, -zero2 * factor, in2, out, swapped)


def _folded(
    weights: NDArray[np.int8], in_zero_point: int, out: OutputS8
) -> tuple[NDArray[np.int8], NDArray[np.int32], list[SnapnnScale]] | None:
    """(weights, bias with the zero point, scales) of [channels, inputs]."""
    bias, bound = _bias_of(weights, in_zero_point, out)
    # A multiplier of zero makes the zero point of anything: so do weights of zero.
    dead = out.mantissa == 0
    weights, bias = weights.copy(), np.where(dead, 0, bias).astype(np.int32)
    weights[dead] = 0
    if bound.max() > INT32_MAX:
        return None
    scales = [
        scale_of(
            _NO_SCALE if dead[c] else Multiplier(int(out.mantissa[c]), int(out.shift[c])),
            out.zero_point,
            int(bound[c]),
        )
        for c in range(len(weights))
    ]
    known = [scale for scale in scales if scale]
    return (weights, bias, known) if len(known) == len(scales) else None


def _bias_of(
    weights: NDArray[np.int8], in_zero_point: int, out: OutputS8
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The bias with the zero point in it, and the largest size on the way to a sum, by channel."""
    wide = weights.astype(np.int64)
    bias = out.bias - in_zero_point * wide.sum(axis=1)
    bound = np.abs(bias) + 128 * np.abs(wide).sum(axis=1)
    return bias.astype(np.int32), bound


def _scale_words(scales: list[SnapnnScale]) -> NDArray[np.int32]:
    return np.array([(s.multiplier, s.rounding, s.shift) for s in scales], np.int32)


def _blocks(weights: NDArray[np.int8], bias: NDArray[np.int32], scales: NDArray[np.int32]) -> Words:
    """Pairs of channels, groups of four inputs; scales [channels, 3]."""
    channels, inputs = weights.shape
    pairs, groups = -(-channels // 2), -(-inputs // 4)
    padded = np.zeros((2 * pairs, 4 * groups), np.int8)
    padded[:channels, :inputs] = weights
    # [pair, group, half, byte]: a0 b0 a2 b2, then a1 b1 a3 b3.
    split = padded.reshape(pairs, 2, groups, 2, 2)  # pair, channel, group, input // 2, parity
    body = np.ascontiguousarray(split.transpose(0, 2, 4, 3, 1))
    all_bias = np.zeros(2 * pairs, np.int32)
    all_bias[:channels] = bias
    all_scales = np.zeros((2 * pairs, 3), np.int32)
    all_scales[:channels] = scales
    parts = (
        all_bias.reshape(pairs, 2).view(np.uint32),
        body.reshape(pairs, -1).view(np.uint32),
        all_scales.reshape(pairs, 6).view(np.uint32),
    )
    return np.concatenate(parts, axis=1).ravel()
