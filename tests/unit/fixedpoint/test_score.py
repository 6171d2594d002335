"""score_q16 and its weights."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from snapcli.fixedpoint import quantize_weights_q16, score_q16

weights = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12)


@given(weights)
def test_weights_sum_to_one_and_are_close(real: list[float]) -> None:
    quantized = quantize_weights_q16(real)
    assert quantized.sum() == 65536
    assert np.all(np.abs(quantized - 65536 * np.array(real) / np.sum(real)) < 1)


@given(weights, st.integers(0, 2**31 - 1))
def test_score_of_equal_surprisals_is_that_surprisal(real: list[float], surprisal: int) -> None:
    taps = np.full((1, len(real)), surprisal, np.uint32)
    assert score_q16(taps, quantize_weights_q16(real)) == surprisal


@given(hnp.arrays(np.uint32, (5, 3), elements=st.integers(0, 2**31 - 1)))
def test_score_is_the_rounded_weighted_mean(surprisal: np.ndarray) -> None:
    weight = quantize_weights_q16([0.5, 0.3, 0.2])
    exact = (surprisal.astype(object) @ weight.astype(object)) / 65536
    assert np.all(np.abs(score_q16(surprisal, weight) - exact.astype(float)) <= 0.5 + 1e-6)
