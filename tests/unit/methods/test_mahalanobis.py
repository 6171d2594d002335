"""Distances against scipy's, and what must not change them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

from snapcli.methods.mahalanobis import MahalanobisDiagonal
from snapcli.methods.method import LOGITS, Batch, Dev
from tests.unit.made_evidence import CLASSES, TAPS, made_dev, made_evidence


def fitted() -> MahalanobisDiagonal:
    method = MahalanobisDiagonal(TAPS)
    method.fit(made_evidence().train, made_dev())
    return method


def at(
    method: MahalanobisDiagonal, shrinkage: float, weights: tuple[float, ...]
) -> MahalanobisDiagonal:
    method.shrinkage_, method.weights_ = shrinkage, weights
    return method


def scipys(batch: Batch, shrinkage: float, weights: tuple[float, ...]) -> np.ndarray:
    """By cdist, of class means and the variance within classes of the training data."""
    train, total = made_evidence().train, 0.0
    for tap, weight in zip(TAPS, weights, strict=True):
        x = train.outputs[tap]
        means = np.stack([x[train.y == k].mean(axis=0) for k in range(CLASSES)])
        variance = np.mean((x - means[train.y]) ** 2, axis=0)
        shrunk = variance + shrinkage * variance.mean()
        squared = cdist(batch.outputs[tap], means, "mahalanobis", VI=np.diag(1 / shrunk)) ** 2
        other = cdist(batch.outputs[tap], means, "seuclidean", V=shrunk) ** 2
        np.testing.assert_allclose(squared, other)
        total = total + weight / x.shape[1] * squared
    return np.asarray(total).min(axis=1)


@pytest.mark.parametrize("shrinkage", [0.0, 1e-3])
@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)])
def test_it_is_scipys(shrinkage: float, weights: tuple[float, ...]) -> None:
    method, clean = at(fitted(), shrinkage, weights), made_evidence().clean
    np.testing.assert_allclose(method.score(clean), scipys(clean, shrinkage, weights))


def test_shrinkage_and_weights_find_most_errors_of_dev() -> None:
    method, batches = fitted(), made_dev().batches()
    assert method.tuning_ is not None
    wrong = np.concatenate([b.logits.argmax(axis=-1) != b.y for b in batches])
    grid = method.tuning_.grid
    found = {
        (s, w): roc_auc_score(wrong, np.concatenate([scipys(b, s, w) for b in batches]))
        for s in grid["shrinkage"]
        for w in map(tuple, grid["weights"])
    }
    assert method.tuning_.score == pytest.approx(max(found.values()))
    assert found[method.shrinkage_, tuple(method.weights_)] == pytest.approx(max(found.values()))


@settings(max_examples=15)
@given(
    st.lists(st.floats(0.01, 100), min_size=3, max_size=3),
    st.lists(st.floats(-100, 100), min_size=3, max_size=3),
)
def test_units_of_the_channels_do_not_matter(scale: list[float], offset: list[float]) -> None:
    def changed(batch: Batch) -> Batch:
        other = batch.outputs[TAPS[0]] * scale + offset
        return Batch({LOGITS: batch.logits, TAPS[0]: other}, batch.y)

    evidence, plain, rescaled = (
        made_evidence(),
        MahalanobisDiagonal(TAPS[:1]),
        MahalanobisDiagonal(TAPS[:1]),
    )
    dev = Dev(evidence.dev.clean, {})
    plain.fit(evidence.train, dev)
    rescaled.fit(changed(evidence.train), Dev(changed(dev.clean), {}))
    found = at(rescaled, 0.0, (1.0,)).score(changed(evidence.clean))
    expected = at(plain, 0.0, (1.0,)).score(evidence.clean)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def of_tap(x: np.ndarray, y: np.ndarray, classes: int = 3) -> Batch:
    return Batch({LOGITS: np.zeros((len(y), classes)), "tap": x}, y)


def test_a_class_without_examples_has_no_mean() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2 * 2
    x = rng.normal(0, 1, (40, 3)) + 10 * y[:, None]
    method = MahalanobisDiagonal(["tap"])
    batch = of_tap(x, y)
    method.fit(batch, Dev(batch, {}))
    between = of_tap(np.full((1, 3), 10.0), np.zeros(1, np.int64))
    assert method.score(between)[0] > 10 * method.score(batch).max()


def test_a_channel_that_never_changes_is_no_division_by_zero() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (60, 3))
    x[:, 1] = 4.0
    batch = of_tap(x, np.arange(60) % 3)
    method = MahalanobisDiagonal(["tap"])
    method.fit(batch, Dev(batch, {}))
    for shrinkage in (0.0, 1e-3):
        assert np.all(np.isfinite(at(method, shrinkage, (1.0,)).score(batch)))
    moved = of_tap(x + np.array([0.0, 0.1, 0.0]), batch.y)
    assert method.score(moved).min() > method.score(batch).max()


def test_channels_far_from_zero_lose_no_digits() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    x = rng.normal(0, 1, (90, 4)) + y[:, None]
    near, far = MahalanobisDiagonal(["tap"]), MahalanobisDiagonal(["tap"])
    near.fit(of_tap(x, y), Dev(of_tap(x, y), {}))
    far.fit(of_tap(x + 1e6, y), Dev(of_tap(x + 1e6, y), {}))
    found = at(far, 0.0, (1.0,)).score(of_tap(x + 1e6, y))
    expected = at(near, 0.0, (1.0,)).score(of_tap(x, y))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
