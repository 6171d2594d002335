"""Scores of ensembles, against scipy and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics import roc_auc_score

from snapcli.array import Array
from snapcli.methods.method import Batch, Dev
from snapcli.methods.trained.deep_ensemble import DeepEnsemble
from snapcli.methods.trained.ensemble import MEMBERS, mutual_information, predictive_entropy
from snapcli.methods.trained.mc_dropout import McDropout


def posteriors(seed: int, spread: float) -> Array:
    """[6, 4, 3]"""
    return softmax(np.random.default_rng(seed).normal(0, spread, (6, 4, 3)), axis=-1)


@given(st.integers(0, 999), st.floats(0.1, 9))
def test_mutual_information_is_the_mean_divergence_from_the_mean(seed: int, spread: float) -> None:
    p = posteriors(seed, spread)
    mean = p.mean(axis=1, keepdims=True)
    divergence = entropy(p, np.broadcast_to(mean, p.shape), axis=-1).mean(axis=1)
    np.testing.assert_allclose(mutual_information(p), divergence, atol=1e-12)
    np.testing.assert_allclose(
        predictive_entropy(p), [entropy(row) for row in mean[:, 0]], atol=1e-12
    )


def test_members_that_agree_have_nothing_to_tell_each_other() -> None:
    p = np.repeat(posteriors(0, 2.0)[:, :1], 4, axis=1)
    np.testing.assert_allclose(mutual_information(p), 0, atol=1e-12)


def test_an_ensemble_answers_by_its_mean_posterior() -> None:
    p = posteriors(1, 3.0)
    # Logits are known up to a constant.
    batch = Batch({MEMBERS: np.log(p) + 7.0}, np.zeros(6, np.int64))
    ensemble = DeepEnsemble()
    np.testing.assert_allclose(ensemble.probabilities(batch), p.mean(axis=1), atol=1e-12)
    np.testing.assert_array_equal(ensemble.answers(batch), p.mean(axis=1).argmax(axis=-1))
    np.testing.assert_allclose(ensemble.score(batch), predictive_entropy(p), atol=1e-12)


def passes(seed: int, disagreement: bool) -> Batch:
    """200 inputs, 10 passes, 3 classes, a third of them answered wrongly. Errors are those whose
    passes disagree, or those whose passes are all doubtful in the same way."""
    rng = np.random.default_rng(seed)
    y, wrong = rng.integers(0, 3, 200), np.arange(200) % 3 == 0
    said = np.where(wrong, (y + 1) % 3, y)
    logits = np.repeat(6.0 * np.eye(3)[said][:, None], 10, axis=1)
    if disagreement:
        # What the others doubt, they doubt in every pass.
        logits[~wrong] *= rng.uniform(0.05, 0.3, (np.sum(~wrong), 1, 1))
        flipped = wrong[:, None] & (np.arange(10) % 5 == 4)
        logits[flipped] = 6.0 * np.eye(3)[np.repeat(y[wrong], 2)]
    else:
        logits[wrong] *= 0.1
        logits += rng.normal(0, 0.01, logits.shape)
    return Batch({MEMBERS: logits}, y)


@pytest.mark.parametrize(
    ("disagreement", "score"), [(True, "mutual information"), (False, "entropy")]
)
def test_mc_dropout_takes_the_score_that_finds_errors(disagreement: bool, score: str) -> None:
    method, dev = McDropout(), Dev(passes(0, disagreement), {("noise", 1): passes(1, disagreement)})
    method.fit(dev.clean, dev)
    assert method.tuning_ is not None
    assert method.tuning_.chosen["score"] == score
    assert method.tuning_.grid == {"passes": [5, 10], "score": ["entropy", "mutual information"]}
    wrong = np.concatenate([method.answers(b) != b.y for b in dev.batches()])
    found = np.concatenate([method.score(b) for b in dev.batches()])
    assert method.tuning_.score == pytest.approx(roc_auc_score(wrong, found))


def test_mc_dropout_looks_at_the_passes_it_has_chosen_alone() -> None:
    method, batch = McDropout(), passes(2, disagreement=True)
    method.fit(batch, Dev(batch, {}))
    kept = method.tuning_.chosen["passes"] if method.tuning_ else 0
    other = batch.outputs[MEMBERS].copy()
    other[:, kept:] = 0.0
    np.testing.assert_array_equal(
        method.score(Batch({MEMBERS: other}, batch.y)), method.score(batch)
    )
