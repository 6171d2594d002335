"""Evidence as a posterior, against scipy's Dirichlet."""

import numpy as np
import pytest
from scipy.stats import dirichlet
from sklearn.metrics import log_loss, roc_auc_score

from snapcli.methods.method import Batch, Dev
from snapcli.methods.trained.evidential import Evidential


def batch(seed: int, sure: float) -> Batch:
    """Logits that are right in three of four cases, by a margin that grows with `sure`."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 300)
    said = np.where(rng.uniform(size=300) < 0.75, y, (y + 1) % 4)
    return Batch({"logits": rng.normal(0, 1, (300, 4)) + sure * np.eye(4)[said]}, y)


def test_the_posterior_is_the_mean_of_the_dirichlet() -> None:
    dev = Dev(batch(0, 30.0), {("noise", 1): batch(1, 30.0)})
    method = Evidential()
    method.fit(dev.clean, dev)
    assert method.tuning_ is not None
    evidence = np.log1p(np.exp(dev.clean.logits))
    means = [dirichlet.mean(method.tuning_.chosen["scale"] * row + 1) for row in evidence]
    np.testing.assert_allclose(method.probabilities(dev.clean), means)
    np.testing.assert_allclose(method.score(dev.clean), 1 - np.max(means, axis=1))


def test_the_scale_is_the_best_of_the_grid() -> None:
    dev = Dev(batch(2, 30.0), {("noise", 3): batch(3, 5.0)})
    method = Evidential()
    method.fit(dev.clean, dev)
    assert method.tuning_ is not None
    y = np.concatenate([b.y for b in dev.batches()])
    values = {}
    for scale in method.tuning_.grid["scale"]:
        method.scale_ = scale
        p = np.concatenate([method.probabilities(b) for b in dev.batches()])
        values[scale] = roc_auc_score(p.argmax(-1) != y, 1 - p.max(-1)) - log_loss(y, p)
    assert method.tuning_.chosen["scale"] == max(values, key=lambda scale: values[scale])
    assert method.tuning_.score == pytest.approx(max(values.values()))
