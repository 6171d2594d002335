"""How constants are written: no value changes on its way into C."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.emit.text import array


@given(st.sampled_from(["int8", "int32", "uint16", "uint32"]), st.data())
def test_every_value_is_written_as_it_is(dtype: str, data: st.DataObject) -> None:
    limits = np.iinfo(dtype)
    items = st.integers(int(limits.min), int(limits.max))
    values = np.array(data.draw(st.lists(items, min_size=1, max_size=60)), dtype)
    text = array("name", values)
    head, _, body = text.partition("{")
    assert head == f"static const {dtype}_t name[{len(values)}] = "
    numbers = body.replace("INT32_MIN", str(-(2**31)))
    assert [int(n) for n in re.findall(r"-?\d+", numbers)] == values.tolist()
    assert max(map(len, text.splitlines())) <= 100


def test_the_smallest_int32_is_no_negated_literal() -> None:
    """In C 2147483648 does not fit an int, so -2147483648 is not an int."""
    assert "INT32_MIN" in array("name", np.array([-(2**31)], np.int32))


def test_a_type_that_c_does_not_know_here_is_refused() -> None:
    with pytest.raises(KeyError):
        array("name", np.zeros(3))
