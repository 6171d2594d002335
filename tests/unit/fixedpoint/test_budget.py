"""The budget controller in integers: its limits, and its distance from the real one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from snapcli.fixedpoint import budget_of, budget_run
from snapcli.fixedpoint.budget import ONE_Q24
from snapcli.score.controller import Controller

shares = st.floats(0, 1)
steps = st.floats(1e-5, 1)
streams = hnp.arrays(np.uint32, st.integers(1, 200), elements=st.integers(0, 65536))


@given(shares, steps, steps, st.integers(0, 65537), streams)
def test_rate_and_threshold_stay_within_0_and_1(
    budget: float, eta: float, kappa: float, first: int, u: np.ndarray
) -> None:
    _, states = budget_run(budget_of(budget, eta, kappa, first), u)
    assert states.min() >= 0
    assert states.max() <= ONE_Q24


@given(shares, steps, steps, st.integers(0, 65536), streams)
def test_it_is_close_to_the_real_one_that_decides_alike(
    budget: float, eta: float, kappa: float, first: int, u: np.ndarray
) -> None:
    """Up to the first U that falls between the two thresholds, these differ by at most
    2^-23 per step and 2^-23 per step of each step before: rounding, added up."""
    abstain, states = budget_run(budget_of(budget, eta, kappa, first), u)
    real, thresholds = Controller(budget, eta, kappa).run(u / 65536, first / 65536)
    alike = np.flatnonzero(abstain != real)
    end = alike[0] if len(alike) else len(u)
    t = np.arange(1, end + 1)
    difference = np.abs(states[:end, 1] / ONE_Q24 - thresholds[:end])
    assert np.all(difference <= (t + t**2) * 2.0**-23)
    if len(alike):
        before = thresholds[end - 1] if end else first / 65536
        assert abs(u[end] / 65536 - before) <= (end + end**2) * 2.0**-23


@given(st.floats(0.02, 0.5), st.floats(0.01, 0.2), st.integers(0, 2**32 - 1))
def test_the_long_run_rate_is_the_budget(budget: float, eta: float, seed: int) -> None:
    u = np.random.default_rng(seed).integers(0, 65537, 4000).astype(np.uint32)
    abstain, _ = budget_run(budget_of(budget, eta, eta / 2, 65536), u)
    assert abs(abstain[2000:].mean() - budget) < 0.04


def test_small_steps_are_not_rounded_away() -> None:
    """The smallest eta and kappa there are still move rate and threshold where they should."""
    u = np.full(20_000, 65536, np.uint32)
    _, states = budget_run(budget_of(0.0, 1e-5, 1e-5, 30000), u)
    rate = 1 - (1 - 1e-5) ** 20_000
    assert abs(states[-1, 0] / ONE_Q24 - rate) < 0.01 * rate
    assert states[-1, 1] > 30000 << 8


def test_a_threshold_that_nothing_reaches_becomes_1() -> None:
    assert budget_of(0.1, 0.1, 0.1, 65537).threshold_q24 == ONE_Q24
