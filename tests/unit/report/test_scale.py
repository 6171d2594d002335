"""Ticks are round, inside and not too many."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.report.scale import Scale, around


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4), st.integers(2, 9))
def test_ticks(low: float, span: float, about: int) -> None:
    scale = Scale(low, low + span, 0, 100)
    ticks = scale.ticks(about)
    assert len(ticks) <= about + 1
    assert all(-1e-6 <= scale(t) <= 100 + 1e-6 for t in ticks)
    steps = {round(b - a, 9) for a, b in pairwise(ticks)}
    assert len(steps) <= 1
    for step in steps:
        # 1, 2 or 5 times a power of ten.
        assert f"{step:.6e}"[0] in "125"


def test_places() -> None:
    scale = Scale(2, 4, 10, 110)
    assert scale(3) == 60
    assert scale.clipped(9) == 110
    assert Scale(0, 1, 100, 0)(0.25) == 75


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 10))
def test_around_holds_everything(values: list[float], least: float) -> None:
    low, high = around(values, least)
    assert low < min(values)
    assert high > max(values)
    assert high - low >= least * (1 - 1e-6)


def test_around_nothing() -> None:
    assert around([float("nan")]) == (0.0, 1.0)
    assert around([]) == pytest.approx((0, 1))
