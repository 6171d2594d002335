"""sigmoid_q16 against math.exp."""

import math

from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import sigmoid_q16, sigmoid_tail_q16_table

inputs = st.integers(-(2**20), 2**20) | st.integers(-(2**63), 2**63 - 1)


@given(st.integers(-(2**21), 2**21))
def test_sigmoid_is_close(t_q16: int) -> None:
    # Linear interpolation of steps of 1/16 is off by 4.3 units where the curve bends most.
    assert abs(int(sigmoid_q16(t_q16)) - 65536 / (1 + math.exp(-t_q16 / 65536))) <= 5


@given(inputs, inputs)
def test_sigmoid_is_monotone(a: int, b: int) -> None:
    low, high = sigmoid_q16([min(a, b), max(a, b)])
    assert low <= high


@given(inputs)
def test_sigmoid_is_symmetric_and_bounded(t_q16: int) -> None:
    t_q16 = max(t_q16, -(2**63) + 1)
    value, mirrored = (int(v) for v in sigmoid_q16([t_q16, -t_q16]))
    assert 0 <= value <= 65536
    assert value + mirrored == 65536


def test_table_ends() -> None:
    table = sigmoid_tail_q16_table()
    assert (len(table), table[0], table[256]) == (257, 32768, 0)
