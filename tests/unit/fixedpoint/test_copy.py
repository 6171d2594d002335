"""Copies against numpy's own indexing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import ConfigError
from snapcli.fixedpoint import (
    CopyS8,
    broadcast_copy,
    concatenation_of,
    concatenation_s8,
    copy_s8,
    pad_of,
    pad_s8,
    slice_copy,
    transpose_copy,
)

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def tensor(shape: list[int]) -> np.ndarray:
    """A batch of two, the elements as different as int8 allows."""
    return np.arange(2 * np.prod(shape)).astype(np.int8).reshape(2, *shape)


def copied(copy: CopyS8, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    output = np.zeros((len(x), int(np.prod(shape[1:]))), np.int8)
    copy_s8(copy, x.reshape(len(x), -1), output)
    return output.reshape(shape)


@given(st.data(), shapes)
def test_transpose(data: st.DataObject, shape: list[int]) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    x = tensor(shape)
    expected = x.transpose(0, *(axis + 1 for axis in order))
    actual = copied(transpose_copy(shape, order), x, expected.shape)
    np.testing.assert_array_equal(actual, expected)


@given(st.data(), shapes)
def test_slice(data: st.DataObject, shape: list[int]) -> None:
    begin = [data.draw(st.integers(0, size - 1)) for size in shape]
    step = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in shape]
    end = [
        data.draw(st.integers(first + 1, size) if by > 0 else st.integers(-1, first - 1))
        for first, by, size in zip(begin, step, shape, strict=True)
    ]
    x = tensor(shape)
    places = [range(*edges) for edges in zip(begin, end, step, strict=True)]
    expected = x[np.ix_(range(2), *places)]
    actual = copied(slice_copy(shape, begin, end, step), x, expected.shape)
    np.testing.assert_array_equal(actual, expected)


@given(st.data(), shapes)
def test_concatenation(data: st.DataObject, shape: list[int]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    each = [[*shape[:axis], length, *shape[axis + 1 :]] for length in lengths]
    tensors = [tensor(one) for one in each]
    expected = np.concatenate(tensors, axis=axis + 1)
    layer = concatenation_of(each, axis)
    output = concatenation_s8(layer, *(x.reshape(2, -1) for x in tensors))
    np.testing.assert_array_equal(output.reshape(expected.shape), expected)


@given(st.data(), shapes)
def test_broadcast(data: st.DataObject, shape: list[int]) -> None:
    narrow = [data.draw(st.sampled_from([1, size])) for size in shape]
    narrow = narrow[data.draw(st.integers(0, len(narrow))) :]
    x = tensor(narrow)
    lead = [1] * (len(shape) - len(narrow))
    expected = np.broadcast_to(x.reshape(2, *lead, *narrow), (2, *shape))
    actual = copied(broadcast_copy(narrow, shape), x, expected.shape)
    np.testing.assert_array_equal(actual, expected)


@given(st.data(), shapes, st.integers(-128, 127))
def test_pad(data: st.DataObject, shape: list[int], value: int) -> None:
    amounts = st.integers(0, 3)
    padding = [(data.draw(amounts), data.draw(amounts)) for _ in shape]
    x = tensor(shape)
    expected = np.pad(x, [(0, 0), *padding], constant_values=value)
    actual = pad_s8(pad_of(shape, padding, value), x.reshape(2, -1))
    np.testing.assert_array_equal(actual.reshape(expected.shape), expected)


def test_neighbouring_axes_become_one_run() -> None:
    assert pad_of([6, 5, 4], [(1, 1), (0, 0), (0, 0)], 0).copy.count == (1, 1, 1, 120)
    assert slice_copy([6, 5, 4], [0, 1, 0], [6, 3, 4], [1, 1, 1]).count == (1, 1, 6, 8)


def test_axes_that_cannot_be_merged_are_limited() -> None:
    with pytest.raises(ConfigError, match="5 axes"):
        transpose_copy([2, 2, 2, 2, 2], [4, 3, 2, 1, 0])
