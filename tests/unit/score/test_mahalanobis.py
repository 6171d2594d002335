"""The distance to the nearest class against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import EmpiricalCovariance, LedoitWolf

from snapcli.score.mahalanobis import MAX_RANK, MONITOR_RANK, fit_mahalanobis


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


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(2, 5))
def test_distances_are_scikit_learns(seed: int, channels: int, classes: int) -> None:
    x, labels = draw(300, channels, classes, seed)
    found = fit_mahalanobis(x, labels, classes)
    standard = (x - found.mean) / found.deviation
    classes_there = np.unique(labels)
    centres = np.stack([standard[labels == k].mean(axis=0) for k in classes_there])
    within = standard - centres[np.searchsorted(classes_there, labels)]
    oracle = LedoitWolf(assume_centered=True).fit(within)
    foreign = np.concatenate([x, 5 * x[:50] + 1])
    # A class without examples has the mean of all, which is 0 here.
    every = np.zeros((classes, channels))
    every[classes_there] = centres
    away = (foreign - found.mean) / found.deviation
    expected = nearest(oracle, every, away)
    np.testing.assert_allclose(found.distance(foreign), expected, rtol=1e-6, atol=1e-9)
    answer = np.arange(len(foreign)) % classes
    to_answer, to_next = found.to_answer_and_next(foreign, answer).T
    own = [nearest(oracle, every[[k]], z[np.newaxis]) for k, z in zip(answer, away, strict=True)]
    np.testing.assert_allclose(to_answer, np.concatenate(own), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.minimum(to_answer, to_next), expected, rtol=1e-6, atol=1e-9)
    for k in range(classes):
        others = np.delete(every, k, axis=0)
        expected = nearest(oracle, others, away[answer == k])
        np.testing.assert_allclose(to_next[answer == k], expected, rtol=1e-6, atol=1e-9)


def test_much_data_needs_no_shrinkage() -> None:
    x, labels = draw(40_000)
    centres = np.stack([x[labels == k].mean(axis=0) for k in range(4)])
    oracle = EmpiricalCovariance(assume_centered=True).fit(x - centres[labels])
    found = fit_mahalanobis(x, labels, 4).distance(x)
    np.testing.assert_allclose(found, nearest(oracle, centres, x), rtol=0.05)
    assert found.mean() == pytest.approx(1.0, abs=0.05)


def test_foreign_data_is_further_away() -> None:
    x, labels = draw()
    found = fit_mahalanobis(x[:300], labels[:300], 4)
    assert np.median(found.distance(x[300:])) < 3
    assert np.median(found.distance(x[300:][:, ::-1])) > 10


def test_many_channels_keep_the_directions_that_vary_most() -> None:
    x, labels = draw(500, 100)
    found = fit_mahalanobis(x, labels, 4)
    assert found.whitening.shape == (MONITOR_RANK, 100)
    assert fit_mahalanobis(x, labels, 4, MAX_RANK).whitening.shape == (MAX_RANK, 100)
    standard = (x - found.mean) / found.deviation
    classes = np.stack([standard[labels == k].mean(axis=0) for k in range(4)])
    away = (standard[:, np.newaxis] - classes) @ found.whitening.T
    expected = np.min(np.mean(away**2, axis=-1), axis=-1)
    np.testing.assert_allclose(found.distance(x), expected, rtol=1e-6)
    variances = 1 / np.sum(found.whitening**2, axis=1)
    assert np.all(np.diff(variances) <= 1e-9)


def test_a_class_without_examples_has_the_centre_of_all() -> None:
    x, labels = draw(classes=3)
    centres = fit_mahalanobis(x, np.where(labels == 1, 4, labels), 5).centres
    np.testing.assert_array_equal(centres[[1, 3]], 0)
    assert np.abs(centres[[0, 2, 4]]).min() > 0


def test_channels_that_say_nothing_do_no_harm() -> None:
    x, labels = draw()
    plain = fit_mahalanobis(x, labels, 4).distance(x)
    dead = fit_mahalanobis(np.concatenate([x, np.full((len(x), 2), 3.0)], axis=1), labels, 4)
    found = dead.distance(np.concatenate([x, np.full((len(x), 2), 3.0)], axis=1))
    assert np.corrcoef(found, plain)[0, 1] > 0.99
    constant = fit_mahalanobis(np.ones((20, 3)), np.zeros(20, np.int64), 2)
    np.testing.assert_array_equal(constant.distance(np.ones((2, 3))), 0)
