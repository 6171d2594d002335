"""Mean time to an alarm, against closed forms, brute force and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapcli.array import Array
from snapcli.score import run_length

SHARES = np.array([0.5, 0.3, 0.15, 0.05])
EVIDENCE = np.array([-0.9, -0.3, 0.4, 1.7])


def _simulated(threshold: float, keep: float, start: float, floor: float) -> float:
    """1,500 streams; statistic = keep * statistic + evidence, from floor upwards."""
    rng = np.random.default_rng(0)
    at = np.full(1_500, start)
    frames, left = np.zeros(1_500), np.ones(1_500, bool)
    while left.any():
        at = keep * np.maximum(at, floor) + rng.choice(EVIDENCE, 1_500, p=SHARES)
        frames += left
        left &= at < threshold
    return float(frames.mean())


@pytest.mark.parametrize("steps", [1, 4, 8])
def test_a_fair_walk_that_cannot_fall_below_nothing_takes_n_times_n_plus_1(steps: int) -> None:
    # Steps of +-1 from 0, reflected at 0: from 0 to 1 on average 2 frames, then 4, then 6.
    length = run_length.of_sum(np.array([0.5, 0.5]), np.array([-1.0, 1.0]))
    # These steps lie on the grid of 400 points.
    assert length(float(steps)) == pytest.approx(steps * (steps + 1), rel=0.02)


@pytest.mark.parametrize("threshold", [2.0, 4.0])
def test_a_sum_takes_as_long_as_in_a_simulation(threshold: float) -> None:
    expected = run_length.of_sum(SHARES, EVIDENCE)(threshold)
    assert expected == pytest.approx(_simulated(threshold, 1.0, 0.0, 0.0), rel=0.1)


def test_a_mean_takes_as_long_as_in_a_simulation() -> None:
    memory = 16
    start = memory * float(SHARES @ EVIDENCE)
    expected = run_length.of_mean(SHARES, EVIDENCE, memory)(1.0)
    simulated = _simulated(1.0, 1 - 1 / memory, start, -np.inf)
    assert expected == pytest.approx(simulated, rel=0.1)


def test_a_window_is_silent_for_at_least_as_long_as_said() -> None:
    window, threshold = 8, 4.0
    said = run_length.of_window(SHARES, EVIDENCE, window)(threshold)
    rng = np.random.default_rng(0)
    earned = rng.choice(EVIDENCE, (1_000, 4_000), p=SHARES)
    total = np.cumsum(np.pad(earned, ((0, 0), (1, 0))), axis=1)
    above = total[:, window:] - total[:, :-window] >= threshold
    first = np.where(above.any(axis=1), above.argmax(axis=1) + window, 4_000)
    assert said <= first.mean() <= 40 * said
    # Its probability of ending above the threshold, by brute force.
    likely = float(np.mean(above))
    assert 1 / (2 * said) == pytest.approx(likely, rel=0.1)


def test_evidence_that_never_rises_never_sounds() -> None:
    shares = np.array([0.5, 0.5])
    for evidence in (np.zeros(2), np.array([-1.0, 0.0])):
        assert run_length.of_sum(shares, evidence)(1.0) == run_length.FOREVER
        assert run_length.of_mean(shares, evidence, 64)(1.0) == run_length.FOREVER
        assert run_length.of_window(shares, evidence, 64)(1.0) > 1e11  # FFT noise


def test_a_statistic_that_starts_above_its_threshold_sounds_at_once() -> None:
    length = run_length.of_mean(SHARES, EVIDENCE, 16)
    assert length(16 * float(SHARES @ EVIDENCE)) == 0


@st.composite
def walks(draw: st.DrawFn) -> tuple[Array, Array]:
    bins = draw(st.integers(2, 6))
    weights = draw(st.lists(st.floats(0.05, 1), min_size=bins, max_size=bins))
    evidence = draw(st.lists(st.floats(-2, 2), min_size=bins, max_size=bins))
    return np.array(weights) / sum(weights), np.sort(evidence)


@settings(deadline=None, max_examples=8)
@given(walks(), st.floats(0.5, 4), st.floats(0.1, 3))
def test_a_higher_threshold_takes_no_less_time(
    walk: tuple[Array, Array], threshold: float, more: float
) -> None:
    shares, evidence = walk
    for length in (
        run_length.of_sum(shares, evidence),
        run_length.of_window(shares, evidence, 8),
    ):
        assert length(threshold + more) >= 0.99 * length(threshold)


@settings(deadline=None, max_examples=8)
@given(walks(), st.floats(1, 4))
def test_heavier_tails_sound_no_later(walk: tuple[Array, Array], threshold: float) -> None:
    shares, evidence = walk
    heavier = shares.copy()
    heavier[-1] += heavier[0] / 2
    heavier[0] /= 2
    for kind in (run_length.of_sum, lambda s, e: run_length.of_window(s, e, 8)):
        assert kind(heavier, evidence)(threshold) <= 1.01 * kind(shares, evidence)(threshold)


def test_the_threshold_is_the_least_with_that_run_length() -> None:
    length = run_length.of_sum(SHARES, EVIDENCE)
    threshold = run_length.threshold_for(length, 1_000, 0.01, 20.0)
    assert length(threshold) >= 1_000 > length(threshold - 20 / 1024)
    assert run_length.threshold_for(length, 1e30, 0.01, 3.0) == 3.0
