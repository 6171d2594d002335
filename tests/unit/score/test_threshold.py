"""Thresholds against brute force over every value there is."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, roc_curve

from snapcli.score.threshold import (
    threshold_by_budget,
    threshold_by_coverage,
    threshold_by_f1,
    threshold_by_youden,
)

# Few different values, so that ties are the rule.
values = st.lists(st.integers(0, 8).map(lambda k: k / 8), min_size=1, max_size=25).map(np.array)
shares = st.integers(0, 20).map(lambda k: k / 20)


def candidates(uncertainty: np.ndarray) -> list[float]:
    return [0.0, *sorted(set(uncertainty.tolist())), 2.0]


@given(values, shares)
def test_coverage_is_reached_by_the_smallest_threshold(u: np.ndarray, coverage: float) -> None:
    found = threshold_by_coverage(u, coverage)
    enough = [t for t in candidates(u) if np.sum(u < t) >= round(coverage * len(u), 9)]
    np.testing.assert_array_equal(u >= found, u >= min(enough))


@given(values, shares)
def test_the_budget_is_kept_by_the_smallest_threshold(u: np.ndarray, budget: float) -> None:
    found = threshold_by_budget(u, budget)
    within = [t for t in candidates(u) if np.sum(u >= t) <= round(budget * len(u), 9)]
    np.testing.assert_array_equal(u >= found, u >= min(within))


@given(values, st.data())
def test_f1_is_the_best_there_is(u: np.ndarray, data: st.DataObject) -> None:
    wrong = np.array(data.draw(st.lists(st.booleans(), min_size=len(u), max_size=len(u))))

    def f1(threshold: float) -> float:
        return float(f1_score(wrong, u >= threshold, zero_division=0.0))

    found = threshold_by_f1(u, wrong)
    assert f1(found) == max(f1(t) for t in candidates(u))


@given(values.filter(lambda u: len(u) > 1), st.data())
def test_youden_s_j_is_the_best_of_scikit_learn_s_curve(u: np.ndarray, data: st.DataObject) -> None:
    wrong = np.array(data.draw(st.lists(st.booleans(), min_size=len(u), max_size=len(u))))
    wrong[:2] = True, False
    fpr, tpr, _ = roc_curve(wrong, u, drop_intermediate=False)
    refused = u >= threshold_by_youden(u, wrong)
    assert np.mean(refused[wrong]) - np.mean(refused[~wrong]) == pytest.approx(np.max(tpr - fpr))


@pytest.mark.parametrize("rule", [threshold_by_f1, threshold_by_youden])
def test_without_errors_nothing_is_refused(rule: Callable[..., float]) -> None:
    u = np.array([0.2, 1.0, 0.7])
    assert not np.any(u >= rule(u, np.zeros(3, bool)))


def test_a_u_that_knows_nothing_refuses_nothing() -> None:
    u, wrong = np.array([0.1, 0.1, 0.6, 0.6]), np.array([True, False, True, False])
    assert not np.any(u >= threshold_by_youden(u, wrong))
