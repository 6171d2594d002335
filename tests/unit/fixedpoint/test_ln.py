"""ln_q16 against math.log."""

import math

from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import ln_of_q16, ln_q16, log2_q15_table

# Every magnitude of uint32, not only the huge ones that a uniform draw gives.
values = st.integers(0, 31).flatmap(lambda bit: st.integers(2**bit, 2 ** (bit + 1) - 1))


@given(values)
def test_ln_is_close(value: int) -> None:
    # LN2_Q16 is 0.1 units too small, times at most 32 bits; table and interpolation are off by
    # at most 3 units of log2.
    assert abs(int(ln_q16(value)) - 65536 * math.log(value)) <= 6


@given(values, values)
def test_ln_is_monotone(a: int, b: int) -> None:
    low, high = ln_q16([min(a, b), max(a, b)])
    assert low <= high


@given(st.integers(1, 30))
def test_ln_is_monotone_across_a_power_of_two(bit: int) -> None:
    below, at, above = ln_q16([2**bit - 1, 2**bit, 2**bit + 1])
    assert below <= at <= above


def test_ln_of_zero_counts_as_one() -> None:
    assert ln_q16(0) == ln_q16(1) == 0


@given(values)
def test_ln_of_a_number_in_q16(value: int) -> None:
    assert abs(int(ln_of_q16(value)) - 65536 * math.log(value / 65536)) <= 6


def test_ln_of_one_is_zero() -> None:
    assert ln_of_q16(65536) == 0
    assert ln_of_q16(0) == ln_of_q16(1) < 0


def test_table_ends() -> None:
    table = log2_q15_table()
    assert (len(table), table[0], table[256]) == (257, 0, 32768)
