"""Packed weights, unpacked by hand, and packed requantization against the specification."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from snapcli.emit import Reference, build_program, packing
from snapcli.emit.snap import Snap
from snapcli.fixedpoint import AddS8, FullyConnectedS8, Multiplier, OutputS8, add_s8
from snapcli.fixedpoint.requantize import requantize

from ..graph.test_fusion import residual

INT32 = st.integers(-(2**31), 2**31 - 1)
MANTISSA = st.integers(2**30, 2**31 - 1)
HALF = Multiplier(1 << 30, 0)


def scaled(value: np.ndarray, scale: packing.SnapnnScale) -> np.ndarray:
    """As snapnn.h has it, in integers that never overflow."""
    high = (value * (2**32 + scale.multiplier) + 2**31) >> 32
    assert np.all(np.abs(high + (high >> 31) + scale.rounding) < 2**31)
    return (high + (high >> 31) + scale.rounding) >> scale.shift


@given(INT32, MANTISSA, st.integers(-31, 2), st.integers(-128, 127), st.integers(0, 2**31 - 1))
def test_a_scale_rounds_as_tflite_does(
    value: int, mantissa: int, shift: int, zero_point: int, bound: int
) -> None:
    assume(abs(value) <= bound)
    scale = packing._scale(Multiplier(mantissa, shift), zero_point, bound)
    if scale is None:
        # What cannot be packed is far from what layers have, or close to overflowing.
        assert shift > -1 or shift < -22 or bound > 2**31 - 2**30
        return
    for near in (value, -value, value + 1 if value < bound else value):
        expected = requantize(near, mantissa, shift) + zero_point
        assert scaled(np.int64(near), scale) == expected


def test_ties_round_away_from_zero() -> None:
    scale = packing._scale(Multiplier(1 << 30, -1), 0, 1000)
    assert scale is not None
    values = np.arange(-9, 10)
    np.testing.assert_array_equal(scaled(values, scale), requantize(values, 1 << 30, -1))


def unpacked(matrix: packing.SnapnnMatrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(weights [2 * pairs, 4 * groups], bias, scales), read as the head of snapnn.h says."""
    words = matrix.words.reshape(-1, 2 * matrix.groups + 8)
    body = words[:, 2:-6].copy().view(np.int8).reshape(len(words), matrix.groups, 2, 4)
    weights = np.zeros((2 * len(words), 4 * matrix.groups), np.int8)
    for channel in range(2):
        for i, (half, byte) in enumerate(((0, 0), (1, 0), (0, 2), (1, 2))):
            weights[channel::2, i::4] = body[:, :, half, byte + channel]
    return weights, words[:, :2].ravel().view(np.int32), words[:, -6:].reshape(-1, 3)


@given(st.integers(1, 7), st.integers(1, 11), st.integers(-128, 127), st.integers(0, 99))
def test_a_matrix_holds_every_weight_and_a_bias_for_the_zero_point(
    channels: int, inputs: int, zero_point: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-127, 128, (channels, inputs)).astype(np.int8)
    bias = rng.integers(-1000, 1000, channels).astype(np.int32)
    mantissa, shift = np.full(channels, 1 << 30, np.int32), np.full(channels, -7, np.int8)
    out = OutputS8(bias, mantissa, shift, 5, -128, 127)
    packed = packing.pack_fully_connected(
        FullyConnectedS8(inputs, channels, zero_point, weights, out)
    )
    assert packed is not None
    found, folded, scales = unpacked(packed.matrix)
    np.testing.assert_array_equal(found[:channels, :inputs], weights)
    assert not found[channels:].any()
    assert not found[:, inputs:].any()
    x = rng.integers(-128, 128, inputs)
    np.testing.assert_array_equal(
        found[:channels, :inputs].astype(int) @ x + folded[:channels],
        weights.astype(int) @ (x - zero_point) + bias,
    )
    np.testing.assert_array_equal(scales[:channels], [[1 << 30, 0, 38]] * channels)


def test_a_channel_without_scale_gives_its_zero_point() -> None:
    """TFLite has a multiplier of zero where all weights of a channel are."""
    out = OutputS8(
        *(np.array([300, 7], np.int32), np.array([1 << 30, 0], np.int32)),
        *(np.array([-3, 0], np.int8), 9, -128, 127),
    )
    folded = packing._folded(np.array([[3, 4], [5, 6]], np.int8), 2, out)
    assert folded is not None
    weights, bias, scales = folded
    np.testing.assert_array_equal(weights, [[3, 4], [0, 0]])
    np.testing.assert_array_equal(bias, [300 - 14, 0])
    assert scaled(np.int64(0), packing.SnapnnScale(*map(int, scales[1]))) == 9


@given(MANTISSA, st.integers(-31, -1), st.integers(1, 2**31 - 1))
def test_what_vanishes_is_rounded_to_nothing(mantissa: int, shift: int, bound: int) -> None:
    out = OutputS8(*(np.array([v], np.int32) for v in (0, mantissa)), np.array([shift]), 0, 0, 0)
    largest = np.array([bound, -bound])
    expected = not requantize(largest, mantissa, shift).any()
    assert packing._vanishes(out, np.array([bound])) == [expected]


@given(
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.integers(-3, 0),
    st.booleans(),
)
def test_sums_are_tflites(zero1: int, zero2: int, zero: int, shift: int, swap: bool) -> None:
    half = Multiplier(1 << 30, 0)
    other = half if shift == 0 else Multiplier(1_500_000_000, shift)
    first, second = (other, half) if swap else (half, other)
    x1, x2 = (v.ravel().astype(np.int8) for v in np.mgrid[-128:128, -128:128])
    sizes = (x1.size,) * 3
    out = Multiplier(1_234_567_890, -18)
    layer = AddS8(*sizes, zero1, zero2, first, second, out, zero, -128, 127)
    packed = packing.pack_add(layer)
    assert packed is not None
    add, swapped = packed
    a, b = (x2, x1) if swapped else (x1, x2)
    sums = (a.astype(np.int64) << 19) + scaled(
        b.astype(np.int64) * add.factor + add.in2_offset, add.in2
    )
    found = np.clip(scaled(sums, add.out), -128, 127)
    np.testing.assert_array_equal(found, add_s8(layer, x1[np.newaxis], x2[np.newaxis])[0])


@pytest.mark.parametrize(("shift", "bias"), [(0, 1), (3, 1), (-23, 1 << 30)])
def test_a_layer_with_a_scale_out_of_reach_is_not_packed(shift: int, bias: int) -> None:
    ones = np.ones(1, np.int32)
    out = OutputS8(ones * bias, ones << 30, ones.astype(np.int8) * shift, 0, -128, 127)
    assert packing._folded(np.ones((1, 4), np.int8), 0, out) is None


def test_a_sum_that_cannot_be_packed_leaves_its_convolution_alone() -> None:
    """Scales too far apart for one rounding constant, the larger with a ReLU's zero point."""
    graph = residual()
    far = Multiplier(1_500_000_000, -12)
    for kernels, apart, fused in ((Snap(Reference()), True, 0), (Snap(Reference()), False, 1)):
        layers = tuple(
            replace(
                layer,
                kernel=replace(layer.kernel, in1=far, in2=HALF, in2_zero_point=-128),
            )
            if isinstance(layer.kernel, AddS8) and apart
            else layer
            for layer in graph.layers
        )
        program = build_program(replace(graph, layers=layers), None, kernels)
        calls = [low.call.partition("(")[0] for low in program.lowered.values()]
        assert calls.count("snapnn_conv_add_s8") == fused
        assert sum(call in ("snapnn_pointwise_s8", "snapnn_conv_s8") for call in calls) >= 2
