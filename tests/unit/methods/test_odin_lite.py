"""1 - max p of a flattened softmax."""

import numpy as np
import pytest
from scipy.special import softmax

from snapcli.methods.logits import MaxProbability, OdinLite
from snapcli.methods.method import LOGITS, Batch, Dev
from tests.unit.made_evidence import made_dev, made_evidence
from tests.unit.methods.logits import of_logits


def at(temperature: float) -> OdinLite:
    method = OdinLite()
    method.temperature_ = temperature
    return method


@pytest.mark.parametrize("temperature", [1.0, 10.0, 1000.0])
def test_it_is_scipys(temperature: float) -> None:
    clean = made_evidence().clean
    expected = 1 - softmax(clean.logits / temperature, axis=-1).max(axis=-1)
    np.testing.assert_allclose(at(temperature).score(clean), expected, atol=1e-14)


def test_without_a_temperature_it_is_max_probability() -> None:
    """Also where 1 - p is rounded away."""
    sure = of_logits(np.array([[60.0, 0.0, 0.0], [70.0, 0.0, 0.0]]))
    np.testing.assert_allclose(at(1.0).score(sure), MaxProbability().score(sure), rtol=1e-12)


def test_a_large_temperature_is_taken_where_it_finds_more_errors() -> None:
    """At a large one only max z - mean z counts: here an error shows in the third class alone."""
    rng = np.random.default_rng(0)
    wrong = np.arange(200) % 2 == 0
    third = np.where(wrong, 0.0, -30.0) + rng.normal(0, 1, 200)
    z = np.stack([np.full(200, 6.0), rng.normal(0, 0.5, 200), third], axis=-1)
    batch = Batch({LOGITS: z}, wrong.astype(np.int64))
    method = OdinLite()
    method.fit(batch, Dev(batch, {}))
    assert method.temperature_ > 1
    assert method.tuning_ is not None
    assert method.tuning_.score > 0.99


def test_fitted_on_dev_it_judges_what_it_was_not_fitted_to() -> None:
    method = OdinLite()
    method.fit(made_evidence().train, made_dev())
    assert method.tuning_ is not None
    assert method.temperature_ in method.tuning_.grid["temperature"]
    assert np.all(np.isfinite(method.score(made_evidence().clean)))
