"""argmax, error_logit and doubt against the softmax they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from snapcli.fixedpoint import Confidence, argmax_s8, doubt_q16, error_logit_q16, exp_q30_table

logits = hnp.arrays(np.int8, st.tuples(st.integers(1, 4), st.integers(2, 20)))
steps = st.floats(0.001, 0.06)  # up to a probability ratio of exp(15), which Q30 resolves well
alphas = st.integers(0, 65536)


def probabilities(rows: np.ndarray, step: float) -> np.ndarray:
    exp = np.exp((rows.astype(float) - rows.max(axis=-1, keepdims=True)) * step)
    return np.sort(exp / exp.sum(axis=-1, keepdims=True), axis=-1)[:, ::-1]


@given(logits, steps)
def test_error_logit_is_the_log_odds_of_an_error(rows: np.ndarray, step: float) -> None:
    confidence = Confidence(rows.shape[1], exp_q30_table(step, 1.0))
    p = probabilities(rows, step)
    expected = 65536 * np.log(p[:, 1:].sum(axis=-1) / p[:, 0])
    actual = error_logit_q16(confidence, rows, argmax_s8(rows))
    # Rounding loses half a unit of Q30 per class; exp(-15.3) has 240 units.
    lost = rows.shape[1] / 2**31 / (p[:, 1:].sum(axis=-1) / p[:, 0])
    assert np.all(np.abs(actual - expected) <= 40 + 65536 * 1.1 * lost)


@given(logits, steps, alphas)
def test_doubt_is_close(rows: np.ndarray, step: float, alpha: int) -> None:
    confidence = Confidence(rows.shape[1], exp_q30_table(step, 1.0))
    p = probabilities(rows, step)
    a = alpha / 65536
    expected = a * (1 - p[:, 0]) + (1 - a) * (1 - p[:, 0] + p[:, 1])
    actual = doubt_q16(confidence, rows, argmax_s8(rows), alpha)
    assert np.all(np.abs(actual - 65536 * expected) <= 2)


@given(
    hnp.arrays(np.int8, st.tuples(st.integers(1, 4), st.integers(1, 50))),
    alphas,
    st.floats(1e-6, 10),
)
def test_doubt_is_a_fraction(rows: np.ndarray, alpha: int, step: float) -> None:
    confidence = Confidence(rows.shape[1], exp_q30_table(step, 1.0))
    doubt = doubt_q16(confidence, rows, argmax_s8(rows), alpha).astype(int)
    assert doubt.min() >= 0
    assert doubt.max() <= 65536


def test_argmax_takes_the_first_of_equals() -> None:
    assert argmax_s8(np.array([[1, 7, 7, -3]], np.int8)) == [1]


def test_temperature_divides_the_logits() -> None:
    np.testing.assert_array_equal(exp_q30_table(0.3, 2.0), exp_q30_table(0.15, 1.0))
