"""ASH-S as its paper has it, written down again for one input at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp

from snapcli.methods.method import FEATURES
from snapcli.methods.shaped_features import AshS
from tests.unit.made_evidence import last_layer, made_dev, made_evidence


def shaped(x: np.ndarray, percentile: int) -> np.ndarray:
    method = AshS(last_layer())
    method.percentile_ = percentile
    return method.shaped(x)


def one_shaped(row: list[float], percentile: int) -> list[float]:
    limit = float(np.percentile(row, percentile))
    kept = [value if value >= limit else 0.0 for value in row]
    scale = math.exp(sum(row) / sum(kept)) if sum(kept) > 0 else 1.0
    return [value * scale for value in kept]


features = st.tuples(st.integers(1, 4), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 30).map(lambda k: k / 4))
)


@given(features, st.sampled_from([65, 80, 90]))
def test_each_input_is_shaped_by_itself(x: np.ndarray, percentile: int) -> None:
    expected = [one_shaped(row.tolist(), percentile) for row in x]
    np.testing.assert_allclose(shaped(x, percentile), expected)


@pytest.mark.parametrize("percentile", [65, 90])
def test_as_many_are_kept_as_the_percentile_leaves(percentile: int) -> None:
    x = np.random.default_rng(0).uniform(0.1, 1, (50, 100))
    kept = np.count_nonzero(shaped(x, percentile), axis=-1)
    np.testing.assert_array_equal(kept, 100 - percentile)
    assert np.all(shaped(x, percentile).argmax(axis=-1) == x.argmax(axis=-1))


def test_an_input_without_any_activation_is_no_accident() -> None:
    assert shaped(np.zeros((2, 5)), 80).tolist() == np.zeros((2, 5)).tolist()


def test_the_score_is_the_energy_of_shaped_features() -> None:
    method, clean = AshS(last_layer()), made_evidence().clean
    method.fit(made_evidence().train, made_dev())
    assert method.tuning_ is not None
    percentile = method.tuning_.chosen["percentile"]
    last = last_layer()
    rows = [one_shaped(row.tolist(), percentile) for row in clean.outputs[FEATURES]]
    z = np.array(rows) @ last.weights + last.bias
    np.testing.assert_allclose(method.score(clean), -logsumexp(z, axis=-1))
    np.testing.assert_array_equal(method.answers(clean), clean.logits.argmax(axis=-1))
