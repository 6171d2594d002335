"""Weights of the taps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snapcli.score.weights import tap_weights

surprisals = arrays(
    np.float64, st.tuples(st.integers(2, 9), st.integers(1, 4)), elements=st.floats(0, 100)
)


@given(surprisals, st.sampled_from(["uniform", "inverse-variance"]))
def test_weights_are_non_negative_and_sum_to_one(surprisal: np.ndarray, rule: str) -> None:
    weights = tap_weights(surprisal, rule)
    assert weights.shape == (surprisal.shape[1],)
    assert np.all(weights >= 0)
    assert weights.sum() == pytest.approx(1.0)


def test_uniform_does_not_look_at_the_data() -> None:
    surprisal = np.array([[1.0, 5.0, 9.0], [1.0, 50.0, 2.0]])
    np.testing.assert_allclose(tap_weights(surprisal, "uniform"), [1 / 3] * 3)


def test_inverse_variance_makes_the_best_blend() -> None:
    """Among blends of independent taps these weights give the least variance."""
    rng = np.random.default_rng(0)
    surprisal = rng.normal(1.0, [0.1, 0.3, 1.0], (20_000, 3))
    weights = tap_weights(surprisal, "inverse-variance")
    best = np.var(surprisal @ weights)
    for other in rng.dirichlet(np.ones(3), 50):
        assert np.var(surprisal @ other) > 0.97 * best
    np.testing.assert_allclose(weights * surprisal.var(axis=0), weights[0] * 0.01, rtol=0.05)
