"""The distance to the nearest class against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import EmpiricalCovariance, LedoitWolf

from snapcli.score.mahalanobis import MAX_RANK, fit_mahalanobis


def draw(
    count: int = 400, channels: int = 7, classes: int = 4, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Clouds of one correlated shape around a centre per class, channels of different size."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    shape = rng.normal(0, 1, (channels, channels))
    centres = rng.normal(0, 5, (classes, channels))
    x = centres[labels] + rng.normal(0, 1, (count, channels)) @ shape
    return x * rng.uniform(0.1, 10, channels), labels


def nearest(covariance: EmpiricalCovariance, centres: np.ndarray, x: np.ndarray) -> np.ndarray:
    """scikit-learn's squared distance to the nearest centre / channels."""
    every = []
    for centre in centres:
        covariance.location_ = centre
        every.append(covariance.mahalanobis(x))
    return np.min(every, axis=0) / x.shape[1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 5))
def test_distances_are_scikit_learns(seed: int, channels: int, classes: int) -> None:
    x, labels = draw(300, channels, classes, seed)
    found = fit_mahalanobis(x, labels)
    standard = (x - found.mean) / found.deviation
    classes_there = np.unique(labels)
    centres = np.stack([standard[labels == k].mean(axis=0) for k in classes_there])
    within = standard - centres[np.searchsorted(classes_there, labels)]
    oracle = LedoitWolf(assume_centered=True).fit(within)
    foreign = np.concatenate([x, 5 * x[:50] + 1])
    expected = nearest(oracle, centres, (foreign - found.mean) / found.deviation)
    np.testing.assert_allclose(found.distance(foreign), expected, rtol=1e-6, atol=1e-9)


def test_much_data_needs_no_shrinkage() -> None:
    x, labels = draw(40_000)
    centres = np.stack([x[labels == k].mean(axis=0) for k in range(4)])
    oracle = EmpiricalCovariance(assume_centered=True).fit(x - centres[labels])
    found = fit_mahalanobis(x, labels).distance(x)
    np.testing.assert_allclose(found, nearest(oracle, centres, x), rtol=0.05)
    assert found.mean() == pytest.approx(1.0, abs=0.05)


def test_foreign_data_is_further_away() -> None:
    x, labels = draw()
    found = fit_mahalanobis(x[:300], labels[:300])
    assert np.median(found.distance(x[300:])) < 3
    assert np.median(found.distance(x[300:][:, ::-1])) > 10


def test_many_channels_keep_the_directions_that_vary_most() -> None:
    x, labels = draw(500, 100)
    found = fit_mahalanobis(x, labels)
    assert found.whitening.shape == (MAX_RANK, 100)
    standard = (x - found.mean) / found.deviation
    classes = np.stack([standard[labels == k].mean(axis=0) for k in range(4)])
    away = (standard[:, np.newaxis] - classes) @ found.whitening.T
    expected = np.min(np.mean(away**2, axis=-1), axis=-1)
    np.testing.assert_allclose(found.distance(x), expected, rtol=1e-6)
    variances = 1 / np.sum(found.whitening**2, axis=1)
    assert np.all(np.diff(variances) <= 1e-9)


def test_a_class_without_examples_has_no_centre() -> None:
    x, labels = draw(classes=3)
    assert len(fit_mahalanobis(x, np.where(labels == 1, 7, labels)).centres) == 3


def test_channels_that_say_nothing_do_no_harm() -> None:
    x, labels = draw()
    plain = fit_mahalanobis(x, labels).distance(x)
    dead = fit_mahalanobis(np.concatenate([x, np.full((len(x), 2), 3.0)], axis=1), labels)
    found = dead.distance(np.concatenate([x, np.full((len(x), 2), 3.0)], axis=1))
    assert np.corrcoef(found, plain)[0, 1] > 0.99
    constant = fit_mahalanobis(np.ones((20, 3)), np.zeros(20, np.int64))
    np.testing.assert_array_equal(constant.distance(np.ones((2, 3))), 0)
