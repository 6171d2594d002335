"""entropy_q16 against scipy's entropy, average_q16 against numpy's mean."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import entr
from scipy.stats import entropy

from snapcli.fixedpoint import (
    average_q16,
    entropy_q16,
    probability_q16,
    probability_step_q24,
)

probabilities = st.integers(1, 40).flatmap(
    lambda classes: arrays(np.uint32, (3, classes), elements=st.integers(0, 65536))
)
logits = st.integers(2, 40).flatmap(lambda classes: arrays(np.int8, (3, classes)))


@given(probabilities)
def test_entropy_of_the_numbers_as_they_are(p_q16: np.ndarray) -> None:
    p = p_q16 / 65536
    error = np.abs(entropy_q16(p_q16) / 65536 - entr(p).sum(axis=-1))
    assert (error <= 2**-13 * p.sum(axis=-1) + 2**-17).all()


@given(logits, st.floats(1e-3, 2.0))
def test_entropy_of_a_classifier(x: np.ndarray, scale: float) -> None:
    """What probabilities lose by rounding counts as well: a unit of a small one most."""
    found = entropy_q16(probability_q16(x, probability_step_q24(scale))) / 65536
    p = np.exp(x * scale - (x * scale).max(axis=-1, keepdims=True))
    assert np.abs(found - entropy(p, axis=-1)).max() <= 2**-12 + x.shape[1] * 2**-11


def test_ends() -> None:
    sure, equal = [65536, 0, 0, 0], [16384] * 4
    assert entropy_q16(np.array([sure, equal], np.uint32)).tolist() == [0, round(65536 * np.log(4))]


@given(
    st.integers(1, 9).flatmap(
        lambda members: arrays(np.uint32, (2, members, 3), elements=st.integers(0, 65536))
    )
)
def test_average_is_the_mean_rounded_half_up(value: np.ndarray) -> None:
    exact = value.mean(axis=1, dtype=np.float64)
    np.testing.assert_array_equal(average_q16(value), np.floor(exact + 0.5))
