"""Calibration figures against scikit-learn and two packages of calibration."""

import warnings

import numpy as np
import pytest
from calibration import get_ece_em
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

from snapcli.metrics.calibration import (
    binary_brier,
    binary_nll,
    brier,
    ece,
    nll,
    reliability,
    weighted_mean,
)
from tests.unit.metrics.samples import Sample, ones, samples


def posteriors(n: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(classes, 0.3), n), rng.integers(0, classes, n)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_nll_and_brier_are_scikit_learn_s(classes: int) -> None:
    p, y = posteriors(50, classes)
    p = 0.99 * p + 0.01 / classes  # above our floor and scikit-learn's
    weights = np.random.default_rng(1).integers(0, 4, (3, 50))
    labels = np.arange(classes)
    for k, row in enumerate(weights):
        expected = log_loss(y, p, sample_weight=row, labels=labels)
        assert weighted_mean(nll(p, y), weights)[k] == pytest.approx(expected)
        summed = brier_score_loss(y, p, sample_weight=row, labels=labels, scale_by_half=False)
        assert weighted_mean(brier(p, y), weights)[k] == pytest.approx(summed / classes)


@given(samples())
def test_an_error_has_the_figures_of_two_classes(sample: Sample) -> None:
    wrong, p, _ = sample
    two = np.stack([1 - p, p], axis=1)
    np.testing.assert_array_equal(binary_nll(p, wrong), nll(two, wrong.astype(int)))
    np.testing.assert_allclose(binary_brier(p, wrong), brier(two, wrong.astype(int)))


def test_what_was_impossible_costs_a_finite_price() -> None:
    certain = np.array([[1.0, 0.0]])
    assert nll(certain, np.array([1]))[0] == pytest.approx(12 * np.log(10))
    assert nll(certain, np.array([0]))[0] == 0
    assert binary_nll(np.array([0.0]), np.array([True]))[0] == pytest.approx(12 * np.log(10))


@given(samples())
def test_a_weighted_mean_repeats_values(sample: Sample) -> None:
    _, values, weights = sample
    expected = [values.repeat(row).mean() for row in weights]
    np.testing.assert_allclose(weighted_mean(values, weights), expected)


@pytest.mark.parametrize("n", [15, 150, 1500])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ece_is_that_of_uncertainty_calibration(n: int, seed: int) -> None:
    p, y = posteriors(n, 10, seed)
    found = ece(p.max(axis=1), p.argmax(axis=1) == y, ones(n))[0]
    assert found == pytest.approx(get_ece_em(p, y))


@pytest.mark.parametrize("n", [15, 150, 1500])
def test_ece_is_that_of_netcal(n: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metrics = pytest.importorskip("netcal.metrics")
    p, y = posteriors(n, 10)
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    oracle = metrics.ECE(bins=15, equal_intervals=False).measure(confidence, correct.astype(int))
    assert ece(confidence, correct, ones(n))[0] == pytest.approx(float(oracle))


@pytest.mark.parametrize("n", [1501, 1507, 1514])
def test_bins_that_do_not_come_out_even_change_little(n: int) -> None:
    p, y = posteriors(n, 10)
    found = ece(p.max(axis=1), p.argmax(axis=1) == y, ones(n))[0]
    assert found == pytest.approx(get_ece_em(p, y), abs=15 / n)


def shared(confidence: np.ndarray, correct: np.ndarray, bins: int) -> np.ndarray:
    """[bins, 2]: sums of confidence and accuracy, every example in `bins` pieces, one by one."""
    order = np.argsort(confidence)
    pieces = []
    for value in np.unique(confidence):
        group = order[confidence[order] == value]
        pieces += [(value, correct[group].mean())] * (bins * len(group))
    return np.array(pieces).reshape(bins, len(confidence), 2).sum(axis=1) / bins


@given(samples(), st.integers(1, 16))
def test_ece_shares_what_lies_across_an_edge(sample: Sample, bins: int) -> None:
    correct, confidence, weights = sample
    for found, row in zip(ece(confidence, correct, weights, bins), weights, strict=True):
        sums = shared(confidence.repeat(row), correct.repeat(row), bins)
        assert found == pytest.approx(np.abs(sums[:, 1] - sums[:, 0]).sum() / row.sum())


@given(samples(), st.randoms())
def test_the_order_of_the_file_does_not_matter(sample: Sample, random: object) -> None:
    correct, confidence, weights = sample
    order = np.arange(len(correct))
    random.shuffle(order)
    np.testing.assert_allclose(
        ece(confidence[order], correct[order], weights[:, order]),
        ece(confidence, correct, weights),
        atol=1e-12,
    )


@given(st.integers(1, 100), st.integers(1, 100))
def test_a_constant_is_calibrated_if_it_is_the_accuracy(right: int, wrong: int) -> None:
    correct = np.repeat([True, False], [right, wrong])
    n = right + wrong
    assert ece(np.full(n, correct.mean()), correct, ones(n))[0] == pytest.approx(0, abs=1e-12)
    assert ece(np.ones(n), correct, ones(n))[0] == pytest.approx(wrong / n)


def test_worked_by_hand() -> None:
    confidence = np.array([0.6, 0.7, 0.9, 0.9, 0.9, 0.9])
    correct = np.array([False, True, True, False, True, True])
    # Bins of three: the second takes three of the four equals, which are right by 3/4.
    first, second = abs(0 + 1 + 0.75 - 0.6 - 0.7 - 0.9), 3 * abs(0.75 - 0.9)
    assert ece(confidence, correct, ones(6), bins=2)[0] == pytest.approx((first + second) / 6)
    low, high = reliability([(confidence, correct)], bins=2)
    assert low == pytest.approx((2.2 / 3, 1.75 / 3, 0.5))
    assert high == pytest.approx((0.9, 0.75, 0.5))


@given(samples(most=60), st.integers(1, 16))
def test_the_diagram_adds_up_to_the_ece(sample: Sample, bins: int) -> None:
    observed, stated, _ = sample
    diagram = np.array(reliability([(stated, observed)], bins))
    means, rates, mass = diagram.T
    assert mass.sum() == pytest.approx(1)
    assert (np.diff(means) > 0).all()
    assert mass @ means == pytest.approx(stated.mean())
    assert mass @ rates == pytest.approx(observed.mean())
    expected = ece(stated, observed, ones(len(stated)), bins)[0]
    assert mass @ np.abs(means - rates) == pytest.approx(expected)


def test_bins_with_one_probability_are_one() -> None:
    stated = np.repeat([0.2, 1.0], [20, 40])
    observed = np.concatenate([np.arange(20) % 4 == 0, np.arange(40) % 10 > 0])
    low, high = reliability([(stated, observed)])
    assert low == pytest.approx((0.2, 0.25, 1 / 3))
    assert high == pytest.approx((1.0, 0.9, 2 / 3))


def test_a_diagram_of_two_maps_is_the_mean_of_both_bin_by_bin() -> None:
    rng = np.random.default_rng(0)
    parts = [(p, rng.random(90) < p) for p in (rng.random(90), 0.3 * rng.random(90))]
    alone = [np.array(reliability([part], bins=5)) for part in parts]
    np.testing.assert_allclose(reliability(parts, bins=5), np.mean(alone, axis=0))
