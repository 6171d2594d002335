"""Shape arithmetic where TFLite's rules differ from numpy's, and where it is refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from snapcli.graph.folding import FOLDED, fold
from snapcli.graph.schema import OPERATORS, Record


class Options(Record):
    """Options that no file has."""

    def __init__(self, kind: str, **fields: Any) -> None:
        super().__init__(dict(OPERATORS.values())[kind], None)
        self.__dict__.update(fields)


def folded(kind: str, *values: Sequence | int, dtype: str = "int32", **fields: Any) -> list | int:
    arrays = [np.array(v, np.int64) for v in values]
    result = fold(kind, Options(kind, **fields), arrays, dtype)
    assert result.dtype == np.int64
    return result.tolist()


def test_division_is_towards_zero() -> None:
    assert folded("DIV", [7, -7, 7, -7], [2, 2, -2, -2]) == [3, -3, -3, 3]


def test_numbers_wrap_around() -> None:
    assert folded("MUL", [2**30], [4]) == [0]
    assert folded("ADD", [2**31 - 1], [1]) == [-(2**31)]
    assert folded("ADD", [2**31 - 1], [1], dtype="int64") == [2**31]


def test_a_slice_to_the_end() -> None:
    assert folded("SLICE", [5, 6, 7, 8], [1], [-1]) == [6, 7, 8]
    assert folded("SLICE", [[5, 6], [7, 8]], [0, 1], [2, 1]) == [[6], [8]]


def test_sizes_in_the_options() -> None:
    assert folded("RESHAPE", [5, 6], new_shape=np.array([2, 1])) == [[5], [6]]
    assert folded("SQUEEZE", [[5]]) == 5


def test_axes() -> None:
    assert folded("PACK", [1, 2], [3, 4], axis=-1) == [[1, 3], [2, 4]]
    assert folded("GATHER", [[1, 2], [3, 4]], [1], axis=-1) == [[2], [4]]
    assert folded("REDUCE_PROD", [[1, 2], [3, 4]], [-1], keep_dims=True) == [[2], [12]]
    assert folded("STRIDED_SLICE", [1, 2, 3, 4], [3], [0], [-2], end_mask=1) == [4, 2]


@pytest.mark.parametrize(
    ("kind", "values", "fields"),
    [
        ("DIV", ([1], [0]), {}),
        ("GATHER", ([1, 2], [0]), {"batch_dims": 1}),
        ("GATHER", ([1, 2], [0]), {"axis": 3}),
        ("STRIDED_SLICE", ([1, 2], [0], [1], [1]), {"new_axis_mask": 1}),
        ("STRIDED_SLICE", ([1, 2], [0], [1], [-1]), {"shrink_axis_mask": 1}),
        ("STRIDED_SLICE", ([1, 2], [0], [1], [1]), {"shrink_axis_mask": 1, "begin_mask": 1}),
        ("SLICE", ([1, 2], [-1], [1]), {}),
        ("FILL", ([10_000], 1), {}),
        ("FILL", ([-1], 1), {}),
        ("MUL", ([[1]] * 100, [[1] * 100]), {}),
        ("ADD", ([1, 2], [1, 2, 3]), {}),
        ("CONCATENATION", ([1], [2]), {"axis": 1}),
    ],
)
def test_what_cannot_be_computed_is_an_error(kind: str, values: tuple, fields: dict) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        folded(kind, *values, **fields)


def test_every_operator_that_is_folded_is_known_to_the_schema() -> None:
    assert {*FOLDED} <= {kind for kind, _ in OPERATORS.values()}
