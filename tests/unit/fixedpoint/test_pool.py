"""What pooling means; the values are proved in tests/golden."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import PoolS8, average_pool_s8, conv_window, max_pool_s8, reduce_max_pool


@st.composite
def pools(draw: st.DrawFn) -> tuple[PoolS8, np.ndarray]:
    sizes = st.integers(1, 7)
    in_h, in_w, channels = draw(sizes), draw(sizes), draw(st.integers(1, 3))
    padding = draw(st.sampled_from(["same", "valid"]))
    kernels = [draw(st.integers(1, size if padding == "valid" else 9)) for size in (in_h, in_w)]
    strides = [draw(st.integers(1, 4)) for _ in range(2)]
    (out_h, pad_top), (out_w, pad_left) = (
        conv_window(size, kernel, stride, 1, padding)
        for size, kernel, stride in zip((in_h, in_w), kernels, strides, strict=True)
    )
    layer = PoolS8(
        *(in_h, in_w, channels, out_h, out_w), *kernels, *strides, pad_top, pad_left, -128, 127
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return layer, rng.integers(-128, 128, (2, in_h, in_w, channels)).astype(np.int8)


@given(pools())
def test_average_lies_between_smallest_and_largest(case: tuple[PoolS8, np.ndarray]) -> None:
    layer, x = case
    average = average_pool_s8(layer, x).astype(int)
    assert np.all(average <= max_pool_s8(layer, x))
    assert np.all(average >= -1 - max_pool_s8(layer, -1 - x).astype(int))


@given(pools(), st.integers(-128, 127))
def test_padding_does_not_count(case: tuple[PoolS8, np.ndarray], value: int) -> None:
    layer, x = case
    constant = np.full_like(x, value)
    assert np.all(average_pool_s8(layer, constant) == value)
    assert np.all(max_pool_s8(layer, constant) == value)


@given(st.integers(1, 5), st.integers(1, 5), st.booleans(), st.booleans())
def test_reduce_max_is_a_max_pool(in_h: int, in_w: int, over_h: bool, over_w: bool) -> None:
    x = np.random.default_rng(0).integers(-128, 128, (2, in_h, in_w, 3)).astype(np.int8)
    axes = tuple(axis for axis, over in ((1, over_h), (2, over_w)) if over)
    layer = reduce_max_pool(in_h, in_w, 3, over_h, over_w)
    np.testing.assert_array_equal(max_pool_s8(layer, x), x.max(axis=axes, keepdims=True))
