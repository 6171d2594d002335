"""The maps against the formulas they stand for."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import (
    MapGated,
    MapIsotonic,
    MapLogistic,
    map_gated_q16,
    map_isotonic_q16,
    map_logistic_q16,
)

coefficients = st.integers(-(2**18), 2**18)
scores = st.integers(0, 2**22)
doubts = st.integers(0, 65536)


def one(value: int, dtype: type = np.uint32) -> np.ndarray:
    return np.array([value], dtype)


def sigmoid_q16(t: float) -> float:
    return 65536 / (1 + math.exp(-max(-50.0, min(50.0, t))))


@given(
    coefficients,
    coefficients,
    coefficients,
    coefficients,
    st.integers(1, 2**31 - 1),
    st.integers(-(2**20), 2**19),
)
def test_gated_is_close(b0: int, b1: int, b2: int, theta: int, score: int, error: int) -> None:
    t = b0 + b1 / 65536 * max(0.0, 65536 * math.log(score / 65536) - theta) + b2 / 65536 * error
    actual = map_gated_q16(MapGated(b0, b1, b2, theta), one(score), one(error, np.int32))
    # A logarithm off by 10 units, times |b1| <= 4, times the sigmoid's slope 1/4; plus its own 5.
    assert abs(int(actual[0]) - sigmoid_q16(t / 65536)) <= 16


@given(coefficients, coefficients, coefficients, scores, doubts)
def test_logistic_is_close(b0: int, b1: int, b2: int, score: int, doubt: int) -> None:
    t = b0 + b1 / 65536 * score + b2 / 65536 * doubt
    actual = map_logistic_q16(MapLogistic(b0, b1, b2), one(score), one(doubt))
    assert abs(int(actual[0]) - sigmoid_q16(t / 65536)) <= 6


steps = st.lists(st.integers(0, 2**20), max_size=32, unique=True)


@given(steps, st.randoms(), st.integers(0, 65536), scores, scores, doubts)
def test_isotonic_is_monotone(
    breakpoints: list[int], random: np.random.Generator, gamma: int, a: int, b: int, doubt: int
) -> None:
    values = sorted(random.randint(0, 65536) for _ in range(len(breakpoints) + 1))
    parameters = MapIsotonic(
        gamma, np.array(sorted(breakpoints), np.uint32), np.array(values, np.uint32)
    )
    pair = np.array([min(a, b), max(a, b)], np.uint32)
    low, high = map_isotonic_q16(parameters, pair, np.full(2, doubt, np.uint32))
    assert low <= high


def test_isotonic_steps_at_the_breakpoint() -> None:
    parameters = MapIsotonic(65536, np.array([100, 200], np.uint32), np.array([1, 2, 3], np.uint32))
    scores = np.array([99, 100, 199, 200], np.uint32)
    actual = map_isotonic_q16(parameters, scores, np.zeros(4, np.uint32))
    assert actual.tolist() == [1, 2, 2, 3]
