"""argmax, error_logit and doubt against the softmax they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp

from snapcli.fixedpoint import argmax_s8, confidence_of, doubt_q16, error_logit_q16

logits = hnp.arrays(np.int8, st.tuples(st.integers(1, 4), st.integers(2, 20)))
steps = st.floats(0.001, 0.5)  # up to a margin of 127 nats
alphas = st.integers(0, 65536)


def probabilities(rows: np.ndarray, step: float) -> np.ndarray:
    exp = np.exp((rows.astype(float) - rows.max(axis=-1, keepdims=True)) * step)
    return np.sort(exp / exp.sum(axis=-1, keepdims=True), axis=-1)[:, ::-1]


@given(logits, steps)
def test_error_logit_is_the_log_odds_of_an_error(rows: np.ndarray, step: float) -> None:
    confidence = confidence_of(rows.shape[1], step, 1.0)
    ordered = np.sort(rows.astype(float), axis=-1) * step
    expected = 65536 * logsumexp(ordered[:, :-1] - ordered[:, -1:], axis=-1)
    actual = error_logit_q16(confidence, rows, argmax_s8(rows))
    # Half a unit of Q15 per class in a sum of at least one, half a unit of Q16 per step of margin.
    assert np.all(np.abs(actual - expected) <= 20 + rows.shape[1] + 128)


@given(logits, steps, alphas)
def test_doubt_is_close(rows: np.ndarray, step: float, alpha: int) -> None:
    confidence = confidence_of(rows.shape[1], step, 1.0)
    p = probabilities(rows, step)
    a = alpha / 65536
    expected = a * (1 - p[:, 0]) + (1 - a) * (1 - p[:, 0] + p[:, 1])
    actual = doubt_q16(confidence, rows, argmax_s8(rows), alpha)
    # Each of the other classes is off by at most half a unit of Q15.
    assert np.all(np.abs(actual - 65536 * expected) <= 3 + 2 * rows.shape[1])


@given(
    hnp.arrays(np.int8, st.tuples(st.integers(1, 4), st.integers(2, 50))),
    alphas,
    st.floats(1e-6, 10),
)
def test_doubt_is_a_fraction(rows: np.ndarray, alpha: int, step: float) -> None:
    confidence = confidence_of(rows.shape[1], step, 1.0)
    doubt = doubt_q16(confidence, rows, argmax_s8(rows), alpha).astype(int)
    assert doubt.min() >= 0
    assert doubt.max() <= 65536


def test_argmax_takes_the_first_of_equals() -> None:
    assert argmax_s8(np.array([[1, 7, 7, -3]], np.int8)) == [1]


def test_temperature_divides_the_logits() -> None:
    hot, cold = confidence_of(10, 0.3, 2.0), confidence_of(10, 0.15, 1.0)
    assert hot.step_q16 == cold.step_q16
    np.testing.assert_array_equal(hot.exp_q15, cold.exp_q15)
