"""Free energy against scipy, and the temperature that finds most errors."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from snapcli.methods.logits import FreeEnergy
from tests.unit.made_evidence import made_dev, made_evidence
from tests.unit.methods.logits import logits, of_logits


@cache
def fitted() -> FreeEnergy:
    method = FreeEnergy()
    method.fit(made_evidence().train, made_dev())
    return method


@given(logits(), st.floats(-20, 20))
def test_it_is_scipys_and_falls_by_what_all_logits_gain(z: np.ndarray, constant: float) -> None:
    method = fitted()
    t = method.temperature_
    found = method.score(of_logits(z))
    np.testing.assert_allclose(found, -logsumexp(z / t, axis=-1), atol=1e-12)
    shifted = method.score(of_logits(z + constant))
    np.testing.assert_allclose(shifted, found - constant / t, atol=1e-9)


def test_the_temperature_finds_most_errors_of_dev() -> None:
    method = fitted()
    assert method.tuning_ is not None
    batches = made_dev().batches()
    z = np.concatenate([b.logits for b in batches])
    wrong = z.argmax(axis=-1) != np.concatenate([b.y for b in batches])
    found = {
        t: roc_auc_score(wrong, -logsumexp(z / t, axis=-1))
        for t in method.tuning_.grid["temperature"]
    }
    assert found[method.temperature_] == max(found.values())
    assert method.tuning_.score == pytest.approx(max(found.values()))
