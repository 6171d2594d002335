"""exp_q16 against numpy's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import exp_q16

values = st.integers(0, 60).flatmap(lambda bit: st.integers(0, 2**bit))


@given(values)
def test_exp_is_close(value: int) -> None:
    assert abs(int(exp_q16(value)) - 65536 * np.exp(-value / 65536)) < 1


def test_exp_falls_from_one_to_nothing() -> None:
    found = exp_q16(np.arange(1 << 20))
    assert found[0] == 65536
    assert np.all(np.diff(found) <= 0)
    assert found[-1] == 0
