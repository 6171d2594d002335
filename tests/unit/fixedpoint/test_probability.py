"""probability_q16 against scipy's softmax."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from snapcli.fixedpoint import probability_q16, probability_step_q24

logits = st.integers(1, 40).flatmap(lambda classes: arrays(np.int8, (3, classes)))


@given(logits, st.floats(1e-3, 2.0))
def test_probabilities_are_the_softmax(x: np.ndarray, scale: float) -> None:
    found = probability_q16(x, probability_step_q24(scale))
    # Every exponential is off by less than a unit, and so is the quotient.
    assert np.abs(found - 65536 * softmax(x * scale, axis=-1)).max() <= x.shape[1] + 1
    assert np.abs(found.sum(axis=-1, dtype=np.int64) - 65536).max() <= x.shape[1]


def test_a_sure_classifier_says_one() -> None:
    x = np.array([[127, -128, -128]], np.int8)
    assert probability_q16(x, probability_step_q24(0.5)).tolist() == [[65536, 0, 0]]
