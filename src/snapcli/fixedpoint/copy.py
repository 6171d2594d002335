"""Elements moved, not changed (SPEC 1.2).

<-> snapuq_copy_s8.c, snapuq_pad_s8.c, snapuq_concatenation_s8.c

STRIDED_SLICE, SPLIT, TRANSPOSE and BROADCAST_TO are strided copies, CONCATENATION is one per
input, PAD is one into a filled tensor. Shapes here are those of a sample; a batch axis of 1 in
front changes nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.errors import ConfigError

AXES = 4  # nested loops of the kernel


@dataclass(frozen=True)
class CopyS8:
    """output[out_start + sum_k i[k] out_step[k]] = input[in_start + sum_k i[k] in_step[k]]

    for all 0 <= i[k] < count[k], with AXES axes. Steps are in elements and may be negative.
    """

    count: tuple[int, ...]
    in_step: tuple[int, ...]
    out_step: tuple[int, ...]
    in_start: int
    out_start: int


@dataclass(frozen=True)
class PadS8:
    """An output of `length` elements, all `value` but for those that are copied."""

    length: int
    value: int
    copy: CopyS8


@dataclass(frozen=True)
class ConcatenationS8:
    """One copy per input, all into the same output, which they fill."""

    inputs: int
    copies: tuple[CopyS8, ...]


def copy_s8(layer: CopyS8, x: NDArray[np.int8], output: NDArray[np.int8]) -> None:
    """Writes elements of x int8 [N, in_length] to output int8 [N, out_length]."""
    places = np.indices(layer.count).reshape(AXES, -1).T
    source = layer.in_start + places @ layer.in_step
    output[:, layer.out_start + places @ layer.out_step] = x[:, source]


def pad_s8(layer: PadS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, in_length] -> int8 [N, length]."""
    output = np.full((len(x), layer.length), layer.value, np.int8)
    copy_s8(layer.copy, x, output)
    return output


def concatenation_s8(layer: ConcatenationS8, *sources: NDArray[np.int8]) -> NDArray[np.int8]:
    """sources int8 [N, length of each] -> int8 [N, sum of the lengths].

    A constant source may have N = 1.
    """
    length = sum(math.prod(copy.count) for copy in layer.copies)
    output = np.empty((max(map(len, sources)), length), np.int8)
    for copy, x in zip(layer.copies, sources, strict=True):
        copy_s8(copy, x, output)
    return output


def concatenation_of(shapes: Sequence[Sequence[int]], axis: int) -> ConcatenationS8:
    """The inputs have the output's scale."""
    total = [*shapes[0]]
    total[axis] = sum(shape[axis] for shape in shapes)
    steps, copies, start = _steps(total), [], 0
    for shape in shapes:
        copies.append(_copy(shape, _steps(shape), steps, out_start=start))
        start += shape[axis] * steps[axis]
    return ConcatenationS8(len(copies), tuple(copies))


def slice_copy(
    shape: Sequence[int], begin: Sequence[int], end: Sequence[int], step: Sequence[int]
) -> CopyS8:
    """x[begin:end:step] along every axis of x, as in Python but without negative positions.

    A part of a SPLIT is such a slice. With a negative step, an end of -1 includes element 0.
    """
    count = [len(range(*edges)) for edges in zip(begin, end, step, strict=True)]
    strides = _steps(shape)
    start = sum(first * stride for first, stride in zip(begin, strides, strict=True))
    in_step = [stride * by for stride, by in zip(strides, step, strict=True)]
    return _copy(count, in_step, _steps(count), in_start=start)


def transpose_copy(shape: Sequence[int], order: Sequence[int]) -> CopyS8:
    """Axis k of the output is axis order[k] of the input."""
    count, strides = [shape[axis] for axis in order], _steps(shape)
    return _copy(count, [strides[axis] for axis in order], _steps(count))


def broadcast_copy(shape: Sequence[int], to: Sequence[int]) -> CopyS8:
    """numpy.broadcast_to: axes of 1, and those missing in front, repeat."""
    full = [1] * (len(to) - len(shape)) + [*shape]
    steps = [0 if size == 1 else step for size, step in zip(full, _steps(full), strict=True)]
    return _copy(to, steps, _steps(to))


def pad_of(shape: Sequence[int], padding: Sequence[tuple[int, int]], value: int) -> PadS8:
    """Adds (before, after) elements of `value` to every axis; PAD has the zero point as value."""
    padded = [before + size + after for size, (before, after) in zip(shape, padding, strict=True)]
    steps = _steps(padded)
    start = sum(before * step for (before, _), step in zip(padding, steps, strict=True))
    copy = _copy(shape, _steps(shape), steps, out_start=start)
    return PadS8(math.prod(padded), value, copy)


def _steps(shape: Sequence[int]) -> list[int]:
    """Elements from one index to the next along each axis of a dense tensor."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _copy(
    count: Sequence[int],
    in_step: Sequence[int],
    out_step: Sequence[int],
    in_start: int = 0,
    out_start: int = 0,
) -> CopyS8:
    """The copy with as few axes as possible, for the kernel's longest runs, then AXES of them."""
    axes: list[tuple[int, int, int]] = []
    for size, source, to in zip(count, in_step, out_step, strict=True):
        if size == 1:
            continue
        if axes and axes[-1][1] == size * source and axes[-1][2] == size * to:
            size *= axes.pop()[0]
        axes.append((size, source, to))
    if len(axes) > AXES:
        raise ConfigError(
            f"a copy of {len(axes)} axes, but {AXES} is the limit", "Reshape the tensor."
        )
    axes = [(1, 0, 0)] * (AXES - len(axes)) + axes
    counts, sources, targets = zip(*axes, strict=True)
    return CopyS8(counts, sources, targets, in_start, out_start)
