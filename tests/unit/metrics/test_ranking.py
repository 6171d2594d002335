"""Ranking figures against scikit-learn, and torchmetrics where it is installed."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from snapcli.metrics.bootstrap import draw
from snapcli.metrics.ranking import Ranked
from tests.unit.metrics.samples import Sample, ones, samples


def oracle(positive: np.ndarray, score: np.ndarray, row: np.ndarray) -> list[float]:
    """AUROC, average precision and FPR at 95 % recall by scikit-learn."""
    held = row > 0
    positive, score, row = positive[held], score[held], row[held]
    if positive.all() or not positive.any():
        return [np.nan] * 3
    fpr, tpr, _ = roc_curve(positive, score, sample_weight=row, drop_intermediate=False)
    return [
        roc_auc_score(positive, score, sample_weight=row),
        average_precision_score(positive, score, sample_weight=row),
        fpr[np.argmax(tpr >= 0.95 - 1e-12)],
    ]


@given(samples())
def test_every_figure_is_scikit_learn_s(sample: Sample) -> None:
    positive, score, weights = sample
    found = Ranked(positive, score).figures(weights)
    np.testing.assert_allclose(found.T, [oracle(positive, score, row) for row in weights])


def test_so_it_is_for_many_scores_and_real_weights() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(2000) < 0.2
    score = rng.normal(0, 1, 2000) + positive
    weights = draw(2000, 3, seed=0) * rng.random(2000)
    found = Ranked(positive, score).figures(weights)
    np.testing.assert_allclose(found.T, [oracle(positive, score, row) for row in weights])


@given(samples())
def test_figures_are_the_same_alone(sample: Sample) -> None:
    positive, score, weights = sample
    ranked = Ranked(positive, score)
    alone = [f(weights) for f in (ranked.auroc, ranked.average_precision, ranked.fpr_at_recall)]
    np.testing.assert_array_equal(ranked.figures(weights), alone)


@given(samples())
def test_weights_repeat_examples(sample: Sample) -> None:
    positive, score, weights = sample
    found = Ranked(positive, score).figures(weights)
    for figures, row in zip(found.T, weights, strict=True):
        repeated = Ranked(positive.repeat(row), score.repeat(row)).figures(ones(row.sum()))
        np.testing.assert_allclose(figures, repeated[:, 0])


@given(samples())
def test_only_the_order_of_scores_matters(sample: Sample) -> None:
    positive, score, weights = sample
    found = Ranked(positive, score).figures(weights)
    np.testing.assert_array_equal(Ranked(positive, np.exp(5 * score) - 9).figures(weights), found)
    steps = (score * 8).astype(np.uint8)
    np.testing.assert_array_equal(Ranked(positive, steps).figures(weights), found)


@given(samples())
def test_a_negated_score_has_the_other_auroc(sample: Sample) -> None:
    positive, score, weights = sample
    found = Ranked(positive, score).auroc(weights) + Ranked(positive, -score).auroc(weights)
    np.testing.assert_allclose(found[~np.isnan(found)], 1)


@given(samples())
def test_infinite_scores_tie_as_well(sample: Sample) -> None:
    positive, score, weights = sample
    endless = np.where(score == 1, np.inf, np.where(score == 0, -np.inf, score))
    found = Ranked(positive, endless).figures(weights)
    np.testing.assert_array_equal(found, Ranked(positive, score).figures(weights))


def test_worked_by_hand() -> None:
    positive = np.array([True, False, True, True, False])
    score = np.array([0.9, 0.8, 0.8, 0.3, 0.1])
    auroc, precision, fpr = Ranked(positive, score).figures(ones(5), recall=0.6)[:, 0]
    # Pairs: 0.9 wins both, 0.8 half of one and the other, 0.3 one of two.
    assert auroc == pytest.approx((2 + 1.5 + 1) / 6)
    assert precision == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    assert fpr == 1 / 2  # two of three are found at 0.8, with one of two negatives


@pytest.mark.parametrize("positives", [20, 60, 100, 140, 1000])
def test_a_recall_that_is_reached_exactly_is_reached(positives: int) -> None:
    """Scores of the positives fall, one negative lies below 95 % of them: it is not an alarm."""
    score = np.append(np.arange(positives, 0, -1.0), positives / 20 + 0.5)
    positive = np.append(np.ones(positives, bool), False)
    assert Ranked(positive, score).fpr_at_recall(ones(positives + 1)) == 0
    assert Ranked(positive, score).fpr_at_recall(ones(positives + 1), 0.95 + 1e-6) == 1


def test_torchmetrics_agrees() -> None:
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    rng = np.random.default_rng(0)
    positive, score = rng.random(500) < 0.3, rng.integers(0, 50, 500) / 50
    at = torch.tensor(score), torch.tensor(positive.astype(int))
    found = Ranked(positive, score).figures(ones(500))[:2, 0]
    oracles = functional.binary_auroc(*at), functional.binary_average_precision(*at)
    np.testing.assert_allclose(found, [float(o) for o in oracles], rtol=1e-5)
