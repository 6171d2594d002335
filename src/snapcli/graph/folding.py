"""Shape arithmetic at batch 1, computed while reading: integers that no input changes."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from snapcli.graph.schema import Record
from snapcli.graph.shapes import axis_of, expanded, reshaped, sliced, squeezed

ELEMENTS_MAX = 4096

Integers = Sequence[NDArray[np.int64]]


def _gather(options: Record, values: Integers) -> NDArray:
    if options.batch_dims:
        raise ValueError("a GATHER with batch axes")
    return np.take(values[0], values[1], axis=axis_of(options.axis, values[0].ndim))


def _strided_slice(options: Record, values: Integers) -> NDArray:
    if options.ellipsis_mask or options.new_axis_mask or options.offset:
        raise ValueError("a STRIDED_SLICE with an ellipsis, a new axis or an offset")
    edges = [[int(v) for v in part.ravel()] for part in values[1:4]]
    taken, shape = sliced(values[0].shape, edges, options)
    return values[0][np.ix_(*taken)].reshape(shape)


def _slice(options: Record, values: Integers) -> NDArray:
    """A size of -1 is all that is left."""
    _, begins, sizes = values
    if begins.min() < 0 or sizes.min() < -1:
        raise ValueError("a SLICE from the back")
    ends = [
        slice(int(begin), None if size == -1 else int(begin + size))
        for begin, size in zip(begins, sizes, strict=True)
    ]
    return values[0][tuple(ends)]


def _divide(options: Record, values: Integers) -> NDArray:
    """Towards zero, as C does."""
    if not np.all(values[1]):
        raise ValueError("a division by zero")
    quotient = np.abs(values[0]) // np.abs(values[1])
    return np.where((values[0] < 0) == (values[1] < 0), quotient, -quotient)


def _product(options: Record, values: Integers) -> NDArray:
    axes = tuple({axis_of(int(a), values[0].ndim) for a in values[1].ravel()})
    return np.prod(values[0], axis=axes, keepdims=options.keep_dims)


def _reshape(options: Record, values: Integers) -> NDArray:
    wanted = values[1].ravel() if len(values) > 1 else options.new_shape
    return values[0].reshape(reshaped(values[0].shape, [int(d) for d in wanted]))


def _squeeze(options: Record, values: Integers) -> NDArray:
    return values[0].reshape(squeezed(values[0].shape, [int(a) for a in options.squeeze_dims]))


def _fill(options: Record, values: Integers) -> NDArray:
    sizes = [int(d) for d in values[0].ravel()]
    if min(sizes, default=1) < 0 or np.prod([float(d) for d in sizes]) > ELEMENTS_MAX:
        raise ValueError("a FILL that is too large")
    return np.full(sizes, values[1].item())


FOLDED: dict[str, Callable[[Record, Integers], NDArray]] = {
    "ADD": lambda options, values: values[0] + values[1],
    "CAST": lambda options, values: values[0],
    "CONCATENATION": lambda options, values: np.concatenate(
        values, axis=axis_of(options.axis, values[0].ndim)
    ),
    "DIV": _divide,
    "EXPAND_DIMS": lambda options, values: values[0].reshape(
        expanded(values[0].shape, int(values[1].item()))
    ),
    "FILL": _fill,
    "GATHER": _gather,
    "MUL": lambda options, values: values[0] * values[1],
    "PACK": lambda options, values: np.stack(
        values, axis=axis_of(options.axis, values[0].ndim + 1)
    ),
    "REDUCE_PROD": _product,
    "RESHAPE": _reshape,
    "SLICE": _slice,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided_slice,
    "SUB": lambda options, values: values[0] - values[1],
}


def fold(kind: str, options: Record, values: Integers, dtype: str) -> NDArray[np.int64]:
    """The result of one of FOLDED for int64 operands; wraps around where dtype, int32 or int64,
    cannot hold it."""
    with np.errstate(over="ignore"):
        result = np.asarray(FOLDED[kind](options, values))
    if result.size > ELEMENTS_MAX:
        raise ValueError(f"a {kind} to {result.size} integers")
    return result.astype(dtype).astype(np.int64)
