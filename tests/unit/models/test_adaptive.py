"""lambda_ss goes where the heads' gradient is a small share of the classifier's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.models.adaptive import BAND, AdaptiveLambda


@given(st.floats(1e-4, 10.0), st.floats(0.05, 500.0), st.integers(0, 100))
def test_it_comes_into_the_band_and_stays(start: float, ratio: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    moving = AdaptiveLambda(start)
    for _ in range(60):
        moving.update(ratio * rng.uniform(0.8, 1.25))
    assert 0.95 * BAND[0] <= moving.rho <= 1.05 * BAND[1]


def test_inside_of_the_band_nothing_moves() -> None:
    still = AdaptiveLambda(0.1)
    still.update(1.0)
    assert still.value == 0.1
    assert still.rho == pytest.approx(0.1)


def test_one_measurement_moves_it_a_little_only() -> None:
    for ratio in (1e-9, 1e9):
        moved = AdaptiveLambda(0.1)
        moved.update(ratio)
        assert 0.5 < moved.value / 0.1 < 2.0


@pytest.mark.parametrize("ratio", [float("nan"), float("inf"), 0.0])
def test_what_is_no_measurement_is_left_out(ratio: float) -> None:
    moving = AdaptiveLambda(0.1)
    moving.update(0.7)
    before = moving.state()
    moving.update(ratio)
    assert moving.state() == before


def test_it_goes_on_from_its_state() -> None:
    first, again = AdaptiveLambda(5.0), AdaptiveLambda(1.0)
    first.update(3.0)
    again.restore(first.state())
    for moving in (first, again):
        moving.update(2.0)
    assert again.state() == first.state()
