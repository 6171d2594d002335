"""ReAct as its paper has it: min(x, c), c a percentile of activations of known data."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from snapcli.methods.method import FEATURES, Batch
from snapcli.methods.shaped_features import ReAct
from tests.unit.made_evidence import last_layer, made_dev, made_evidence


def energies(batch: Batch, limit: float) -> np.ndarray:
    """One input after the other."""
    last, found = last_layer(), []
    for row in batch.outputs[FEATURES]:
        cut = [min(float(value), limit) for value in row]
        z = [
            sum(value * w for value, w in zip(cut, last.weights[:, k], strict=True)) + bias
            for k, bias in enumerate(last.bias)
        ]
        found.append(-logsumexp(z))
    return np.array(found)


def test_features_are_cut_off_before_the_last_layer() -> None:
    method, evidence = ReAct(last_layer()), made_evidence()
    method.fit(evidence.train, made_dev())
    assert method.tuning_ is not None
    limit = np.percentile(made_dev().clean.outputs[FEATURES], method.tuning_.chosen["percentile"])
    assert method.limit_ == pytest.approx(limit)
    np.testing.assert_allclose(method.score(evidence.clean), energies(evidence.clean, limit))
    # It does something: some features are above.
    assert np.any(evidence.clean.outputs[FEATURES] > limit)


def test_the_percentile_finds_most_errors_of_dev() -> None:
    method = ReAct(last_layer())
    method.fit(made_evidence().train, made_dev())
    assert method.tuning_ is not None
    batches = made_dev().batches()
    wrong = np.concatenate([b.logits.argmax(axis=-1) != b.y for b in batches])
    found = {}
    for percentile in method.tuning_.grid["percentile"]:
        limit = np.percentile(made_dev().clean.outputs[FEATURES], percentile)
        score = np.concatenate([energies(b, float(limit)) for b in batches])
        found[percentile] = roc_auc_score(wrong, score)
    assert found[method.tuning_.chosen["percentile"]] == pytest.approx(max(found.values()))
    assert method.tuning_.score == pytest.approx(max(found.values()))


def test_answers_come_from_the_features_as_they_are() -> None:
    method, clean = ReAct(last_layer()), made_evidence().clean
    method.fit(made_evidence().train, made_dev())
    np.testing.assert_array_equal(method.answers(clean), clean.logits.argmax(axis=-1))
