"""ReAct's and ASH's features against what their papers do to real numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snapcli.fixedpoint import AshS8, ClipS8, ash_s8, clip_s8

features = st.integers(1, 60).flatmap(lambda length: arrays(np.int8, (2, length)))


@given(features, st.integers(-128, 127))
def test_clip_is_the_minimum(x: np.ndarray, limit: int) -> None:
    found = clip_s8(ClipS8(x.shape[1], limit), x)
    np.testing.assert_array_equal(found, np.clip(x, -128, limit))


@given(features, st.integers(-128, 127), st.data())
def test_ash_keeps_the_largest_and_shares_the_sum(
    x: np.ndarray, zero_point: int, data: st.DataObject
) -> None:
    length = x.shape[1]
    kept = data.draw(st.integers(1, length))
    found = ash_s8(AshS8(length, kept, zero_point), x)
    real, shaped = (v.astype(np.float64) - zero_point for v in (x, found))
    for before, after in zip(real, shaped, strict=True):
        share = np.clip(before.sum() / kept, 0, 127 - zero_point)
        is_kept = after > 0
        if share >= 0.5:
            assert is_kept.sum() == kept
            assert before[is_kept].min() >= before[~is_kept].max(initial=-np.inf)
        # Half a step by rounding, at most.
        assert np.abs(after[is_kept] - share).max(initial=0) <= 0.5
        assert (after[~is_kept] == 0).all()
