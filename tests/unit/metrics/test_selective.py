"""Selective prediction against brute force over thresholds, and against another's area."""

import numpy as np
import pytest
from calibration import get_selective_stats
from hypothesis import given
from hypothesis import strategies as st

from snapcli.metrics.selective import Accepted, risk_coverage
from tests.unit.metrics.samples import Sample, ones, samples

coverages = st.integers(1, 20).map(lambda k: k / 20)


def risk_at_coverage(
    wrong: np.ndarray, score: np.ndarray, weights: np.ndarray, coverage: float
) -> np.ndarray:
    return Accepted(wrong, np.zeros(len(score)), score).figures(weights, (coverage,), 1.0)[0]


def mean_accepted(
    value: np.ndarray, score: np.ndarray, weights: np.ndarray, coverage: float
) -> np.ndarray:
    return Accepted(np.zeros(len(score), bool), value, score).figures(weights, (), coverage)[-1]


def aurc(wrong: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return Accepted(wrong, np.zeros(len(score)), score).figures(weights, (), 1.0)[-2]


def accepted(score: np.ndarray, coverage: float) -> np.ndarray:
    """By the threshold whose coverage is the closest from above; U < threshold is accepted."""
    enough = [
        score < threshold
        for threshold in [*np.unique(score), np.inf]
        if np.mean(score < threshold) >= coverage - 1e-12
    ]
    return min(enough, key=np.sum)


@given(samples(), coverages)
def test_the_accepted_are_those_below_a_threshold(sample: Sample, coverage: float) -> None:
    wrong, score, weights = sample
    value = np.arange(len(score)) ** 2.0
    risks = risk_at_coverage(wrong, score, weights, coverage)
    means = mean_accepted(value, score, weights, coverage)
    for risk, mean, row in zip(risks, means, weights, strict=True):
        held = accepted(score.repeat(row), coverage)
        assert risk == pytest.approx(wrong.repeat(row)[held].mean())
        assert mean == pytest.approx(value.repeat(row)[held].mean())


@given(samples())
def test_the_area_is_the_mean_risk_over_all_coverages(sample: Sample) -> None:
    wrong, score, weights = sample
    for found, row in zip(aurc(wrong, score, weights), weights, strict=True):
        n = int(row.sum())
        rows = row[None]
        risks = [risk_at_coverage(wrong, score, rows, k / n)[0] for k in range(1, n + 1)]
        assert found == pytest.approx(np.mean(risks))


@given(st.integers(0, 2**32 - 1), st.integers(1, 200))
def test_without_ties_the_area_is_another_s(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    wrong, score = rng.random(n) < 0.3, rng.permutation(n) / n
    area_of_accuracy, _ = get_selective_stats(1 - score, ~wrong)
    assert aurc(wrong, score, ones(n))[0] == pytest.approx(1 - area_of_accuracy)


@given(samples())
def test_all_accepted_is_the_error_rate(sample: Sample) -> None:
    wrong, score, weights = sample
    rates = [wrong.repeat(row).mean() for row in weights]
    np.testing.assert_allclose(risk_at_coverage(wrong, score, weights, 1.0), rates)
    constant = np.zeros(len(score))
    np.testing.assert_allclose(aurc(wrong, constant, weights), rates)
    np.testing.assert_allclose(risk_at_coverage(wrong, constant, weights, 0.1), rates)


@given(samples(), coverages)
def test_only_the_order_of_scores_matters(sample: Sample, coverage: float) -> None:
    wrong, score, weights = sample
    other = np.exp(5 * score) - 9
    np.testing.assert_array_equal(
        risk_at_coverage(wrong, other, weights, coverage),
        risk_at_coverage(wrong, score, weights, coverage),
    )
    np.testing.assert_array_equal(aurc(wrong, other, weights), aurc(wrong, score, weights))


def test_worked_by_hand() -> None:
    wrong = np.array([False, True, False, True, True])
    score = np.array([0.1, 0.3, 0.3, 0.7, 0.9])
    # The two at 0.3 are accepted together.
    for coverage, risk in ((0.2, 0.0), (0.4, 1 / 3), (0.6, 1 / 3), (0.8, 2 / 4), (1.0, 3 / 5)):
        assert risk_at_coverage(wrong, score, ones(5), coverage)[0] == pytest.approx(risk)
    assert aurc(wrong, score, ones(5))[0] == pytest.approx((0 + 2 / 3 + 2 / 4 + 3 / 5) / 5)
    curve = [[0.2, 0.0], [0.6, 1 / 3], [0.8, 0.5], [1.0, 0.6]]
    # A point for each 20 %: two of them accept the two at 0.3.
    expected = [curve[i] for i in (0, 1, 1, 2, 3)]
    np.testing.assert_allclose(risk_coverage(wrong, score, points=5), expected)
    np.testing.assert_allclose(risk_coverage(wrong, score, points=2), [curve[1], curve[3]])


@given(samples(most=60), st.integers(1, 30))
def test_the_curve_goes_through_its_risks(sample: Sample, points: int) -> None:
    wrong, score, _ = sample
    curve = risk_coverage(wrong, score, points)
    assert len(curve) == points
    assert (np.diff(curve[:, 0]) >= 0).all()
    assert curve[-1] == pytest.approx([1, wrong.mean()])
    for coverage, risk in curve:
        assert risk_at_coverage(wrong, score, ones(len(score)), coverage) == pytest.approx(risk)
    wanted = np.arange(1, points + 1) / points
    attained = [accepted(score, share).mean() for share in wanted]
    np.testing.assert_allclose(curve[:, 0], attained)


@pytest.mark.parametrize("n", [20, 60, 100, 140, 1000, 7400])
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_a_coverage_that_is_reached_exactly_is_reached(n: int, coverage: float) -> None:
    wrong = np.arange(n) >= round(coverage * n)
    assert risk_at_coverage(wrong, np.arange(n), ones(n), coverage) == 0


def test_a_curve_without_ties_has_all_its_points() -> None:
    """0.07 * 100 is more than 7 in floating point."""
    curve = risk_coverage(np.zeros(100, bool), np.arange(100))
    np.testing.assert_allclose(curve[:, 0], np.arange(1, 101) / 100)
