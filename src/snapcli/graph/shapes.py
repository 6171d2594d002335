"""Shapes as TFLite computes them, the batch axis included. What cannot be is a ValueError."""

import math
from collections.abc import Sequence

from snapcli.graph.schema import Record

Shape = tuple[int, ...]


def axis_of(axis: int, rank: int) -> int:
    """An axis that may be counted from the back."""
    if not -rank <= axis < rank:
        raise ValueError(f"there is no axis {axis} of {rank}")
    return axis % rank


def reshaped(shape: Shape, wanted: Sequence[int]) -> Shape:
    """wanted, where one size may be -1: what is left."""
    size = math.prod(shape)
    known = math.prod(d for d in wanted if d != -1)
    sizes = tuple(size // known if d == -1 else d for d in wanted)
    if list(wanted).count(-1) > 1 or min(sizes, default=1) < 1 or math.prod(sizes) != size:
        raise ValueError(f"shape {shape} cannot become {tuple(wanted)}")
    return sizes


def squeezed(shape: Shape, axes: Sequence[int]) -> Shape:
    """Without these axes, or without all of length 1 where none are named."""
    dropped = {axis_of(a, len(shape)) for a in axes}
    if not dropped:
        return tuple(d for d in shape if d != 1)
    if any(shape[a] != 1 for a in dropped):
        raise ValueError(f"shape {shape} cannot be squeezed along {sorted(dropped)}")
    return tuple(d for k, d in enumerate(shape) if k not in dropped)


def expanded(shape: Shape, axis: int) -> Shape:
    at = axis_of(axis, len(shape) + 1)
    return (*shape[:at], 1, *shape[at:])


def sliced(
    shape: Shape, edges: Sequence[Sequence[int]], options: Record
) -> tuple[list[range], Shape]:
    """(what a STRIDED_SLICE takes along every axis, the shape without those it drops)

    edges: begin, end and step.
    """
    begin, end, step = edges
    if not len(begin) == len(end) == len(step) <= len(shape):
        raise ValueError(f"a slice of {len(begin)} axes does not fit shape {shape}")
    taken, kept = [range(size) for size in shape], [*shape]
    for k, (first, last, by) in enumerate(zip(begin, end, step, strict=True)):
        bit, size = 1 << k, shape[k]
        if options.shrink_axis_mask & bit:
            place = axis_of(first, size)
            if by < 1 or options.begin_mask & bit:
                raise ValueError("a slice drops an axis that it also runs along")
            taken[k], kept[k] = range(place, place + 1), 0
            continue
        start = None if options.begin_mask & bit else first
        stop = None if options.end_mask & bit else last
        taken[k] = range(*slice(start, stop, by).indices(size))
        kept[k] = len(taken[k])
        if not kept[k]:
            raise ValueError(f"a slice of shape {shape} is empty")
    return taken, tuple(d for d in kept if d)
