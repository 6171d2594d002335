"""Where the nearest neighbour is; the roundings are proved in tests/golden."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import nearest_index

sizes = st.integers(1, 300)


@given(sizes, sizes, st.booleans(), st.booleans())
def test_indices_rise_and_stay_inside(in_size: int, out_size: int, align: bool, half: bool) -> None:
    index = nearest_index(in_size, out_size, align, half).astype(int)
    assert index.shape == (out_size,)
    assert np.all(np.diff(index) >= 0)
    assert index[-1] < in_size


@given(sizes, st.integers(1, 9), st.booleans())
def test_a_whole_factor_repeats_each_element(in_size: int, factor: int, half: bool) -> None:
    index = nearest_index(in_size, in_size * factor, False, half)
    np.testing.assert_array_equal(index, np.repeat(np.arange(in_size), factor))


@given(st.integers(2, 300), st.integers(2, 300))
def test_aligned_corners_meet(in_size: int, out_size: int) -> None:
    index = nearest_index(in_size, out_size, True, False)
    assert (index[0], index[-1]) == (0, in_size - 1)
