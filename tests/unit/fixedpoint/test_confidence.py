"""argmax, error_logit and doubt against the softmax they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp

from snapcli.fixedpoint import argmax_s8, confidence_of, doubt_q16, error_logit_q16, free_energy_q16

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


@given(logits, steps)
def test_energy_is_minus_the_log_of_the_sum(rows: np.ndarray, step: float) -> None:
    confidence = confidence_of(rows.shape[1], step, 1.0)
    expected = -65536 * logsumexp(rows.astype(float) * step, axis=-1)
    actual = free_energy_q16(confidence, rows, argmax_s8(rows))
    # As above; the largest logit is at most 128 steps from zero, each off by half a unit.
    assert np.all(np.abs(actual - expected) <= 20 + rows.shape[1] + 64)


@pytest.mark.parametrize("step", [1e-4, 0.01, 0.2, 3.0])
@pytest.mark.parametrize("alpha", [0, 40000, 65536])
def test_two_classes_grow_surer_with_every_step_between_them(step: float, alpha: int) -> None:
    """All differences of two int8 logits, at every height."""
    low, high = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    kept = high >= low
    rows = np.stack([high[kept], low[kept]], axis=-1).astype(np.int8)
    difference = (high - low)[kept]
    confidence, predicted = confidence_of(2, step, 1.0), np.zeros(len(rows), np.int32)
    for values in (
        error_logit_q16(confidence, rows, predicted).astype(np.int64),
        doubt_q16(confidence, rows, predicted, alpha).astype(np.int64),
    ):
        by_difference = np.array([values[difference == d][0] for d in range(256)])
        np.testing.assert_array_equal(values, by_difference[difference])
        assert np.all(np.diff(by_difference) <= 0)


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
