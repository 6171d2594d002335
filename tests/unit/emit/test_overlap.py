"""Slack against a replay of what a kernel reads and writes, byte by byte, in its order."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli import fixedpoint as fx
from snapcli.emit.overlap import slack
from snapcli.graph import Layer

sizes = st.integers(1, 6)


@st.composite
def windows(draw: st.DrawFn) -> dict[str, int]:
    """The geometry of a window that reaches the input at every position of the output."""
    found: dict[str, int] = {}
    for axis, start in (("h", "top"), ("w", "left")):
        size, stride = draw(sizes), draw(st.integers(1, 3))
        padding = draw(st.sampled_from(["same", "valid"]))
        kernel = draw(st.integers(1, 4 if padding == "same" else min(size, 4)))
        out, pad = fx.conv_window(size, kernel, stride, 1, padding)
        found |= {f"in_{axis}": size, f"out_{axis}": out, f"kernel_{axis}": kernel}
        found |= {f"stride_{axis}": stride, f"pad_{start}": pad}
    return found


def conv(geometry: dict[str, int], in_c: int, out_c: int) -> fx.ConvS8:
    none = np.zeros(0, np.int8)
    out = fx.OutputS8(none.astype(np.int32), none.astype(np.int32), none, 0, -128, 127)
    steps = {"dilation_h": 1, "dilation_w": 1, "in_zero_point": 0}
    return fx.ConvS8(**geometry, **steps, in_c=in_c, out_c=out_c, weights=none, out=out)


Work = list[tuple[set[int], int]]  # (bytes of the input read, then the byte written)


def positions(g: dict[str, int], in_c: int) -> list[list[int]]:
    """For each position of the output, the first bytes of the input positions it looks at."""
    found = []
    for oy, ox in product(range(g["out_h"]), range(g["out_w"])):
        ys = [oy * g["stride_h"] - g["pad_top"] + k for k in range(g["kernel_h"])]
        xs = [ox * g["stride_w"] - g["pad_left"] + k for k in range(g["kernel_w"])]
        inside = [
            (y * g["in_w"] + x) * in_c
            for y, x in product(ys, xs)
            if 0 <= y < g["in_h"] and 0 <= x < g["in_w"]
        ]
        found.append(inside)
    return found


def conv_work(g: dict[str, int], in_c: int, out_c: int) -> Work:
    """Every output channel reads all input channels of its window."""
    return [
        ({at + c for at in looks for c in range(in_c)}, p * out_c + o)
        for p, looks in enumerate(positions(g, in_c))
        for o in range(out_c)
    ]


def channel_work(g: dict[str, int], channels: int) -> Work:
    """Every output channel reads its own input channel."""
    return [
        ({at + c for at in looks}, p * channels + c)
        for p, looks in enumerate(positions(g, channels))
        for c in range(channels)
    ]


def survives(work: Work, distance: int) -> bool:
    """Whether no byte is read after it was overwritten, if the output starts so much earlier."""
    overwritten: set[int] = set()
    for reads, written in work:
        if reads & overwritten:
            return False
        overwritten.add(written - distance)
    return True


def check(layer: Layer, work: Work, tight: bool) -> None:
    (found,) = slack(layer)
    assert found is not None
    assert survives(work, found)
    if tight and found > 0:
        assert not survives(work, found - 1)


@given(windows(), sizes, sizes)
def test_a_convolution_never_overwrites_what_it_still_reads(
    geometry: dict[str, int], in_c: int, out_c: int
) -> None:
    layer = Layer("c", "CONV_2D", conv(geometry, in_c, out_c), ("x",), "y")
    # The kernel reads a position's window again for every four channels, so the last of them
    # must not hit it: one byte less could only be won for the very last channel.
    check(layer, conv_work(geometry, in_c, out_c), tight=False)


@given(windows(), sizes)
def test_a_depthwise_convolution_may_hit_the_window_it_has_read(
    geometry: dict[str, int], channels: int
) -> None:
    layer = Layer("d", "DEPTHWISE_CONV_2D", conv(geometry, channels, channels), ("x",), "y")
    check(layer, channel_work(geometry, channels), tight=True)


@given(windows(), sizes)
def test_pooling_may_too(geometry: dict[str, int], channels: int) -> None:
    pool = fx.PoolS8(**geometry, channels=channels, min=-128, max=127)
    for operator in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        check(Layer("p", operator, pool, ("x",), "y"), channel_work(geometry, channels), tight=True)


def test_a_3x3_convolution_over_its_own_input_needs_a_row_and_two_positions() -> None:
    same = {"in_h": 25, "in_w": 5, "out_h": 25, "out_w": 5, "kernel_h": 3, "kernel_w": 3}
    same |= {"stride_h": 1, "stride_w": 1, "pad_top": 1, "pad_left": 1}
    whole = Layer("c", "CONV_2D", conv(same, 64, 64), ("x",), "y")
    depthwise = Layer("d", "DEPTHWISE_CONV_2D", conv(same, 64, 64), ("x",), "y")
    assert slack(whole) == ((5 + 2) * 64,)
    assert slack(depthwise) == ((5 + 1) * 64,)


def test_only_operands_of_full_length_are_worked_on_in_place() -> None:
    one = fx.Multiplier(1 << 30, 0)
    add = fx.AddS8(12, 12, 3, 0, 0, one, one, one, 0, -128, 127)
    assert slack(Layer("a", "ADD", add, ("x", "y"), "z")) == (0, None)
