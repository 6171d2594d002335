"""Layers in the form that the kernels of snapnn.h take; the classes are its structs.

Every function returns None where the packed form could overflow or round otherwise.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint import (
    AddS8,
    ConvAddS8,
    ConvS8,
    FullyConnectedS8,
    HeadS8,
    MahalanobisS8,
    Multiplier,
    OutputS8,
)
from snapcli.fixedpoint.requantize import INT32_MAX, requantize
from snapcli.fixedpoint.residual import Standardize

Words = NDArray[np.uint32]

QUAD, KERNEL_H_MAX = 4, 16
# Taps of a 3x3 window in the order in which snapnn_quads.c takes them.
TAP_ORDER = ((0, 1), (0, 2), (0, 0), (1, 1), (1, 2), (1, 0), (2, 1), (2, 2), (2, 0))

_SHIFT_MAX = 22
_HALF = Multiplier(1 << 30, 0)
# ADD takes an operand times 2^20, and half of the one with the larger scale.
_ADD_SHIFT = 20


@dataclass(frozen=True)
class SnapnnScale:
    multiplier: int
    rounding: int
    shift: int


@dataclass(frozen=True, eq=False)
class SnapnnMatrix:
    channels: int
    groups: int
    words: Words


@dataclass(frozen=True)
class SnapnnRange:
    min: int
    max: int


@dataclass(frozen=True, eq=False)
class SnapnnConvS8:
    in_h: int
    in_w: int
    in_c: int
    out_h: int
    out_w: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int
    pad_top: int
    pad_left: int
    in_zero_point: int
    matrix: SnapnnMatrix
    range: SnapnnRange


@dataclass(frozen=True, eq=False)
class SnapnnPointwiseS8:
    positions: int
    in_c: int
    matrix: SnapnnMatrix
    range: SnapnnRange


@dataclass(frozen=True, eq=False)
class SnapnnDepthwiseS8:
    in_h: int
    in_w: int
    channels: int
    out_h: int
    out_w: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int
    pad_top: int
    pad_left: int
    in_zero_point: int
    words: Words
    range: SnapnnRange


@dataclass(frozen=True)
class SnapnnAddS8:
    length: int
    factor: int
    in2_offset: int
    in2: SnapnnScale
    out: SnapnnScale
    range: SnapnnRange


@dataclass(frozen=True, eq=False)
class SnapnnConvAddS8:
    conv: SnapnnConvS8
    add: SnapnnAddS8
    conv_is_second: int


@dataclass(frozen=True, eq=False)
class SnapnnFullyConnectedS8:
    rows: int
    inputs: int
    matrix: SnapnnMatrix
    zero_point: int
    range: SnapnnRange


@dataclass(frozen=True)
class SnapnnShift:
    left: int
    right: int
    mask: int


@dataclass(frozen=True)
class SnapnnRescale:
    twice: int
    rounding: int
    shift: SnapnnShift


@dataclass(frozen=True, eq=False)
class SnapnnStandardize:
    twice: NDArray[np.uint32]
    rounding: NDArray[np.int32]
    shift: SnapnnShift


@dataclass(frozen=True, eq=False)
class SnapnnHeadS8:
    in_channels: int
    channels: int
    components: int
    rank: int
    before: SnapnnStandardize
    after: SnapnnShift
    projector: Words
    latent: Multiplier
    words: Words
    mean: SnapnnRescale
    xi: SnapnnScale
    inverse_sigma_q9: NDArray[np.uint16]
    class_mean: NDArray[np.int8]
    class_scale: Multiplier


@dataclass(frozen=True, eq=False)
class SnapnnMahalanobisS8:
    channels: int
    rank: int
    classes: int
    input: SnapnnStandardize
    whitening: Words
    latent: SnapnnShift
    centres: Words


def pack_conv(layer: ConvS8) -> SnapnnConvS8 | None:
    matrix = _matrix(layer)
    if matrix is None:
        return None
    same = _same(SnapnnConvS8, layer)
    return SnapnnConvS8(**same, matrix=matrix, range=_range(layer.out))


def pack_pointwise(layer: ConvS8) -> SnapnnPointwiseS8 | None:
    """Of a 1x1 convolution with stride 1."""
    matrix = _matrix(layer)
    if matrix is None:
        return None
    return SnapnnPointwiseS8(layer.out_h * layer.out_w, layer.in_c, matrix, _range(layer.out))


def pack_depthwise(layer: ConvS8) -> SnapnnDepthwiseS8 | None:
    """Of a depthwise convolution, a channel from a channel, at least four of them."""
    if is_3x3(layer):
        taps = np.stack([layer.weights[tap] for tap in TAP_ORDER], axis=1)
    else:
        odd = layer.kernel_w % 2
        even_rows = np.pad(layer.weights, ((0, 0), (0, odd), (0, 0)))
        taps = even_rows.reshape(-1, layer.in_c).T
    folded = _folded(taps, layer.in_zero_point, layer.out)
    if folded is None:
        return None
    by_channel, bias, scales = folded
    starts = list(range(0, layer.in_c - QUAD + 1, QUAD))
    if layer.in_c % QUAD:
        starts.append(layer.in_c - QUAD)
    fours = [slice(start, start + QUAD) for start in starts]
    words = [_quad(by_channel[four], bias[four], scales[four]) for four in fours]
    return SnapnnDepthwiseS8(
        **_same(SnapnnDepthwiseS8, layer),
        channels=layer.in_c,
        words=np.concatenate(words),
        range=_range(layer.out),
    )


def is_3x3(layer: ConvS8) -> bool:
    return layer.kernel_h == layer.kernel_w == 3


def spread_conv(layer: ConvS8) -> ConvS8:
    """A depthwise layer of one input channel: it is a convolution."""
    return replace(layer, weights=layer.weights.transpose(2, 0, 1)[..., np.newaxis])


def pack_fully_connected(layer: FullyConnectedS8) -> SnapnnFullyConnectedS8 | None:
    bias, bound = _bias_of(layer.weights, layer.in_zero_point, layer.out)
    if bound.max() > INT32_MAX:
        return None
    right = 31 - layer.out.shift.astype(np.int32)
    scales = np.stack([layer.out.mantissa, np.zeros_like(right), right], axis=1)
    matrix = _blocks(layer.weights, bias, scales)
    zero_point = layer.out.zero_point
    return SnapnnFullyConnectedS8(layer.rows, layer.inputs, matrix, zero_point, _range(layer.out))


def pack_add(layer: AddS8) -> tuple[SnapnnAddS8, bool] | None:
    """Of operands of one length, and whether they change places: the first one has the larger
    scale, and so a multiplier of one half."""
    zeros, scales = (layer.in1_zero_point, layer.in2_zero_point), (layer.in1, layer.in2)
    swapped = scales[0] != _HALF
    if swapped:
        zeros, scales = zeros[::-1], scales[::-1]
    if scales[0] != _HALF:
        return None
    factor, other = 1 << _ADD_SHIFT, scales[1]
    if other == _HALF:
        # One bit more, which a shift takes away again: there is nothing to round.
        factor, other = 2 * factor, Multiplier(_HALF.mantissa, -1)
    in2 = _scale(other, -(zeros[0] << (_ADD_SHIFT - 1)), 255 * factor)
    out = _scale(layer.out, layer.out_zero_point, 255 << _ADD_SHIFT)
    if in2 is None or out is None:
        return None
    limits = SnapnnRange(layer.min, layer.max)
    return SnapnnAddS8(layer.length, factor, -zeros[1] * factor, in2, out, limits), swapped


def pack_conv_add(layer: ConvAddS8) -> SnapnnConvAddS8 | None:
    conv, add = pack_conv(layer.conv), pack_add(layer.add)
    if conv is None or add is None:
        return None
    return SnapnnConvAddS8(conv, add[0], conv_is_second=int(add[1]))


def pack_head(head: HeadS8, bounds: tuple[int, int]) -> SnapnnHeadS8 | None:
    """bounds: the largest size of the pooled sums before the block and after it."""
    before = _standardize(head.before, bounds[0])
    after = _standardize(head.after, bounds[1])
    mean = _rescale(head.mean, _reach(head.mean_weights))
    xi = _scale(head.xi, head.xi_zero_point, _reach(head.xi_weights, head.xi_bias))
    if before is None or after is None or mean is None or xi is None:
        return None
    predicted = _requantized(_reach(head.mean_weights), head.mean)
    if predicted + _requantized(128, head.class_scale) > INT32_MAX:
        return None
    return SnapnnHeadS8(
        in_channels=head.in_channels,
        channels=head.channels,
        components=head.components,
        rank=head.rank,
        before=before,
        after=after.shift,
        projector=_fours(head.projector).ravel(),
        latent=head.latent,
        words=_rows(head, after),
        mean=mean,
        xi=xi,
        inverse_sigma_q9=head.inverse_sigma_q9,
        class_mean=head.class_mean,
        class_scale=head.class_scale,
    )


def _rows(head: HeadS8, after: SnapnnStandardize) -> Words:
    """Two rows of mean and xi at a time, and what else they need."""
    even = -(-head.channels // 2) * 2

    def padded(*parts: NDArray[Any]) -> NDArray[Any]:
        """[rows, ...] of each part, side by side, with an even number of rows in a component."""
        both = np.stack(parts, axis=1).reshape(head.components, head.channels, len(parts), -1)
        ends = np.zeros((head.components, even, *both.shape[2:]), both.dtype)
        ends[:, : head.channels] = both
        return ends.reshape(-1, both.shape[-1])

    weights = _fours(padded(head.mean_weights, head.xi_weights))
    twice = np.tile(after.twice, head.components)
    others = padded(head.xi_bias, twice.view(np.int32), after.rounding)
    pairs = np.ascontiguousarray(others).view(np.uint32).reshape(len(weights), -1)
    return np.concatenate([weights, pairs], axis=1).ravel()


def pack_mahalanobis(head: MahalanobisS8, bound: int) -> SnapnnMahalanobisS8 | None:
    """bound: the largest size of the pooled sums."""
    given = _standardize(head.input, bound)
    none = np.zeros(head.rank, np.int32)
    latent = _standardize(Standardize(head.mantissa, none, head.shift), _reach(head.whitening))
    if given is None or latent is None:
        return None
    weights = _fours(head.whitening)
    scales = np.zeros((4 * len(weights), 2), np.uint32)
    scales[: head.rank] = np.stack([latent.twice, latent.rounding.view(np.uint32)], axis=1)
    centre = np.zeros((head.classes, 4 * len(weights)), np.int16)
    centre[:, : head.rank] = head.centre
    square = np.sum(centre.astype(np.int64) ** 2, axis=1, keepdims=True)
    return SnapnnMahalanobisS8(
        channels=head.channels,
        rank=head.rank,
        classes=head.classes,
        input=given,
        whitening=np.concatenate([weights, scales.reshape(len(weights), -1)], axis=1).ravel(),
        latent=latent.shift,
        centres=np.concatenate([centre.view(np.uint32), square.view(np.uint32)], axis=1).ravel(),
    )


def _reach(weights: NDArray[np.int8], bias: NDArray[np.int32] | int = 0) -> int:
    """The largest size of a row's accumulator, with any int16 as inputs."""
    wide = np.abs(weights.astype(np.int64)).sum(axis=1)
    return int(np.max(32768 * wide + np.abs(np.asarray(bias, np.int64)), initial=0))


def _requantized(bound: int, multiplier: Multiplier) -> int:
    return int(requantize(bound, multiplier.mantissa, multiplier.shift))


def _rescale(multiplier: Multiplier, bound: int) -> SnapnnRescale | None:
    """For accumulators up to +-bound."""
    mantissa, offset = np.array([multiplier.mantissa], np.int32), np.zeros(1, np.int32)
    one = _standardize(Standardize(mantissa, offset, multiplier.shift), bound)
    return SnapnnRescale(int(one.twice[0]), int(one.rounding[0]), one.shift) if one else None


def _standardize(parameters: Standardize, bound: int) -> SnapnnStandardize | None:
    """For sums up to +-bound."""
    left, right = max(parameters.shift, 0), max(-parameters.shift, 0)
    mantissa, offset = (a.astype(np.int64) for a in (parameters.mantissa, parameters.offset))
    rounding = (offset << right) + ((1 << right) >> 1)
    high = np.max(requantize(bound << left, mantissa, 0), initial=0)
    if bound << left > INT32_MAX or high + np.abs(rounding).max(initial=0) >= INT32_MAX:
        return None
    shift = SnapnnShift(left, right, -int(right > 0))
    return SnapnnStandardize((2 * mantissa).astype(np.uint32), rounding.astype(np.int32), shift)


def _same(packed: type, plain: Any) -> dict[str, Any]:
    """The fields of a class that a plain layer has too."""
    return {f.name: getattr(plain, f.name) for f in fields(packed) if hasattr(plain, f.name)}


def _scale(multiplier: Multiplier, zero_point: int, bound: int) -> SnapnnScale | None:
    """For accumulators up to +-bound."""
    shift = -multiplier.shift
    if not 1 <= shift <= _SHIFT_MAX or multiplier.mantissa < 1 << 30:
        return None
    rounding = (zero_point << shift) + (1 << (shift - 1))
    if bound + abs(rounding) + 1 > INT32_MAX:
        return None
    return SnapnnScale(2 * multiplier.mantissa - 2**32, rounding, shift)


def _range(out: OutputS8) -> SnapnnRange:
    return SnapnnRange(out.min, out.max)


def _matrix(layer: ConvS8) -> SnapnnMatrix | None:
    weights = layer.weights.reshape(layer.out_c, -1)
    folded = _folded(weights, layer.in_zero_point, layer.out)
    return _blocks(*folded) if folded else None


def _folded(
    weights: NDArray[np.int8], in_zero_point: int, out: OutputS8
) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int32]] | None:
    """(weights, bias with the zero point, scales [channels, 3]) of weights [channels, inputs]."""
    bias, bound = _bias_of(weights, in_zero_point, out)
    if bound.max() > INT32_MAX:
        return None
    # What is always rounded away gives the zero point, as weights of zero do with any multiplier.
    dead = _vanishes(out, bound)
    mantissa = np.where(dead, 1 << 30, out.mantissa)
    shift = np.where(dead, -1, out.shift)
    scales = []
    for c in range(len(weights)):
        multiplier = Multiplier(int(mantissa[c]), int(shift[c]))
        scale = _scale(multiplier, out.zero_point, int(bound[c]))
        if scale is None:
            return None
        scales.append((scale.multiplier, scale.rounding, scale.shift))
    alive = ~dead
    return weights * alive[:, np.newaxis], bias * alive, np.array(scales, np.int32)


def _vanishes(out: OutputS8, bound: NDArray[np.int64]) -> NDArray[np.bool_]:
    """By channel, whether requantization makes nothing of every accumulator up to +-bound."""
    high = (bound * out.mantissa.astype(np.int64) + (1 << 30)) >> 31
    right = np.maximum(-out.shift.astype(np.int64), 0)
    return (out.mantissa == 0) | ((right > 0) & (high < (1 << right) >> 1))


def _bias_of(
    weights: NDArray[np.int8], in_zero_point: int, out: OutputS8
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The bias with the zero point in it, and the largest size on the way to a sum, by channel."""
    wide = weights.astype(np.int64)
    bias = out.bias - in_zero_point * wide.sum(axis=1)
    bound = np.abs(bias) + 128 * np.abs(wide).sum(axis=1)
    return bias.astype(np.int32), bound


def _blocks(
    weights: NDArray[np.int8], bias: NDArray[np.int32], scales: NDArray[np.int32]
) -> SnapnnMatrix:
    """Pairs of channels, groups of four inputs.

    Worked example: channels a and b with the weights 1 2 3 4 and 5 6 7 8. Behind both biases stand
    the even inputs of both in turns, then the odd ones, so that SXTB16 of a word gives the inputs 0
    and 2 of a, and of the same word turned by a byte those of b; then multiplier, rounding and
    shift of each.

    >>> weights = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.int8)
    >>> bias, scales = np.array([9, 10], np.int32), np.array([[11, 12, 13], [14, 15, 16]], np.int32)
    >>> [hex(word) for word in _blocks(weights, bias, scales).words]
    ['0x9', '0xa', '0x7030501', '0x8040602', '0xb', '0xc', '0xd', '0xe', '0xf', '0x10']
    """
    channels, inputs = weights.shape
    pairs, groups = -(-channels // 2), -(-inputs // 4)
    padded = np.zeros((2 * pairs, 4 * groups), np.int8)
    padded[:channels, :inputs] = weights
    # [pair, channel, group, half of the group, parity] -> bytes a0 b0 a2 b2, a1 b1 a3 b3.
    split = padded.reshape(pairs, 2, groups, 2, 2).transpose(0, 2, 4, 3, 1)
    all_bias, all_scales = np.zeros(2 * pairs, np.int32), np.zeros((2 * pairs, 3), np.int32)
    all_bias[:channels], all_scales[:channels] = bias, scales
    parts = (
        all_bias.reshape(pairs, 2).view(np.uint32),
        np.ascontiguousarray(split).reshape(pairs, -1).view(np.uint32),
        all_scales.reshape(pairs, 6).view(np.uint32),
    )
    return SnapnnMatrix(channels, groups, np.concatenate(parts, axis=1).ravel())


def _quad(taps: NDArray[np.int8], bias: NDArray[np.int32], scales: NDArray[np.int32]) -> Words:
    """taps [4 channels, n]: two taps of a channel in a word; one that is left over, by channels."""
    wide = taps.astype(np.int16)
    even = taps.shape[1] // 2 * 2
    pairs = wide[:, :even].reshape(QUAD, -1, 2).transpose(1, 0, 2)
    last = wide[[0, 2, 1, 3], even:]
    parts = (bias, pairs, last, scales)
    return np.concatenate([part.reshape(-1).view(np.uint32) for part in parts])


def _fours(weights: NDArray[np.int8]) -> Words:
    """Rows of a matrix [rows, inputs], four at a time: of four inputs the two words of the first
    two rows, then those of the others; a word is bytes a0 b0 a1 b1 of rows a and b. Returns
    [four rows, words].

    >>> weights = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.int8)
    >>> [hex(word) for word in _fours(weights)[0]]  # the lowest byte comes first
    ['0x5020401', '0x603', '0x80007', '0x9']
    """
    rows, inputs = weights.shape
    padded = np.zeros((-(-rows // 4) * 4, -(-inputs // 4) * 4), np.int8)
    padded[:rows, :inputs] = weights
    # [four rows, pair of them, one of two, four inputs, input]
    split = padded.reshape(len(padded) // 4, 2, 2, padded.shape[1] // 4, 4)
    turns = np.ascontiguousarray(split.transpose(0, 3, 1, 4, 2))
    return turns.reshape(len(split), 4 * padded.shape[1]).view(np.uint32)
