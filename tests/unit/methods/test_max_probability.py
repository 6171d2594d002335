"""1 - max p against scipy's softmax."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from snapcli.methods.logits import MaxProbability
from tests.unit.methods.logits import logits, of_logits


@given(logits())
def test_it_is_scipys(z: np.ndarray) -> None:
    expected = 1 - softmax(z, axis=-1).max(axis=-1)
    np.testing.assert_allclose(MaxProbability().score(of_logits(z)), expected, atol=1e-14)


@given(logits(), st.floats(-100, 100))
def test_a_constant_added_to_all_logits_changes_nothing(z: np.ndarray, constant: float) -> None:
    method = MaxProbability()
    found, shifted = (method.score(of_logits(values)) for values in (z, z + constant))
    np.testing.assert_allclose(shifted, found, rtol=1e-10)


def test_it_tells_sure_answers_apart_that_round_to_one() -> None:
    z = np.array([[60.0, 0.0, 0.0], [70.0, 0.0, 0.0]])
    assert np.all(softmax(z, axis=-1).max(axis=-1) == 1.0)
    less, more = MaxProbability().score(of_logits(z))
    assert less > more > 0
