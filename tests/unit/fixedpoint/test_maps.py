"""The maps against the formulas they stand for, and their promise never to fall."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import (
    MapClassGated,
    MapGated,
    MapIsotonic,
    MapLogistic,
    map_class_gated_q16,
    map_gated_q16,
    map_isotonic_q16,
    map_logistic_q16,
)

from ...golden.cases import RISING

coefficients = st.integers(-(2**18), 2**18)
slopes = st.integers(0, 2**31 - 1)
scores = st.integers(0, 2**22)
doubts = st.integers(0, 65536)
int32s = st.integers(-(2**31), 2**31 - 1)


def one(value: int, dtype: type = np.uint32) -> np.ndarray:
    return np.array([value], dtype)


def sigmoid_q16(t: float) -> float:
    return 65536 / (1 + math.exp(-max(-50.0, min(50.0, t))))


def gated(b0: int, b2: int, gates: list[tuple[int, int]]) -> MapGated:
    """gates: (slope, theta)"""
    pairs = np.array(gates, np.int32).reshape(-1, 2)
    return MapGated(b0, b2, pairs[:, 0], pairs[:, 1])


@given(
    coefficients,
    coefficients,
    st.lists(st.tuples(coefficients, coefficients, st.integers(-(2**20), 2**20)), max_size=4),
    st.integers(-(2**20), 2**19),
)
def test_gated_is_close(b0: int, b2: int, gates: list[tuple[int, int, int]], error: int) -> None:
    t = b0 + b2 / 65536 * error
    t += sum(slope / 65536 * max(0, x - theta) for slope, theta, x in gates)
    parameters = gated(b0, b2, [(slope, theta) for slope, theta, _ in gates])
    inputs = np.array([[x for _, _, x in gates]], np.int32)
    actual = map_gated_q16(parameters, inputs, one(error, np.int32))
    # Every product is off by half a unit, times the sigmoid's slope 1/4; plus its own 5.
    assert abs(int(actual[0]) - sigmoid_q16(t / 65536)) <= 6


@given(
    coefficients,
    slopes,
    st.lists(st.tuples(slopes, int32s, int32s, int32s), max_size=4),
    int32s,
    int32s,
)
def test_gated_never_falls(
    b0: int, b2: int, gates: list[tuple[int, int, int, int]], e1: int, e2: int
) -> None:
    """With slopes that are not negative, in the error logit and in each input."""
    parameters = gated(b0, b2, [(slope, theta) for slope, theta, _, _ in gates])
    ends = [sorted((a, b)) for _, _, a, b in gates]
    inputs = np.array([[e[k] for e in ends] for k in (0, 1)], np.int32).reshape(2, -1)
    low, high = map_gated_q16(parameters, inputs, np.array(sorted((e1, e2)), np.int32))
    assert low <= high


def class_gated(
    b: tuple[int, int, int],
    taps: list[tuple[int, int, int]],
    tables: list[tuple[int, int]],
    also: list[int],
) -> MapClassGated:
    """b: b0, b2, familiar; taps: (slope, theta, inverse cap); tables: (offset, strange offset);
    also: slopes of further inputs"""
    gates = np.array(taps, np.int32).reshape(-1, 3)
    return MapClassGated(*b, *gates.T, np.array(also, np.int32), *np.array(tables, np.int32).T)


classes = st.lists(st.tuples(coefficients, coefficients), min_size=1, max_size=4)


@given(
    st.tuples(coefficients, coefficients, coefficients),
    st.lists(
        st.tuples(coefficients, coefficients, st.integers(0, 2**18), st.integers(-(2**20), 2**20)),
        max_size=4,
    ),
    st.lists(st.tuples(coefficients, st.integers(-(2**20), 2**20)), max_size=2),
    classes,
    st.integers(-(2**20), 2**19),
    st.data(),
)
def test_class_gated_is_close(
    b: tuple[int, int, int],
    taps: list[tuple[int, int, int, int]],
    also: list[tuple[int, int]],
    tables: list[tuple[int, int]],
    error: int,
    data: st.DataObject,
) -> None:
    answer = data.draw(st.integers(0, len(tables) - 1))
    excess = [max(0, x - theta) for _, theta, _, x in taps]
    shares = [g / 65536 * r / 65536 for g, (*_, r, _) in zip(excess, taps, strict=True)]
    strange = min(1, max(shares, default=0))
    t = b[0] + b[1] / 65536 * error + b[2] / 65536 * min(0, error) * (1 - strange)
    t += sum(slope / 65536 * g for g, (slope, *_) in zip(excess, taps, strict=True))
    t += sum(slope / 65536 * x for slope, x in also)
    t += tables[answer][0] + tables[answer][1] * strange
    inputs = np.array([[x for *_, x in (*taps, *also)]], np.int32)
    gates = [(slope, theta, r) for slope, theta, r, _ in taps]
    parameters = class_gated(b, gates, tables, [slope for slope, _ in also])
    actual = map_class_gated_q16(parameters, inputs, one(error, np.int32), one(answer, np.int32))
    # As the gated map; o is off by half a unit, times an offset of at most 4 or a familiar slope
    # of at most 4 times an error logit of at most 16.
    assert abs(int(actual[0]) - sigmoid_q16(t / 65536)) <= 6 + (2 + 32 + 2 + 2) / 4


@given(
    st.tuples(coefficients, slopes, slopes),
    st.lists(st.tuples(slopes, int32s, slopes, int32s, int32s), min_size=1, max_size=4),
    st.tuples(int32s, slopes),
    int32s,
    int32s,
)
def test_class_gated_never_falls(
    b: tuple[int, int, int],
    taps: list[tuple[int, int, int, int, int]],
    table: tuple[int, int],
    e1: int,
    e2: int,
) -> None:
    """Without a negative slope or strange offset, in the error logit and in each input."""
    parameters = class_gated(b, [tap[:3] for tap in taps], [table], [])
    ends = [sorted(tap[3:]) for tap in taps]
    inputs = np.array([[e[k] for e in ends] for k in (0, 1)], np.int32)
    errors, answer = np.array(sorted((e1, e2)), np.int32), np.zeros(2, np.int32)
    low, high = map_class_gated_q16(parameters, inputs, errors, answer)
    assert low <= high


@given(coefficients, coefficients, coefficients, scores, doubts)
def test_logistic_is_close(b0: int, b1: int, b2: int, score: int, doubt: int) -> None:
    t = b0 + b1 / 65536 * score + b2 / 65536 * doubt
    actual = map_logistic_q16(MapLogistic(b0, b1, b2), one(score), one(doubt))
    assert abs(int(actual[0]) - sigmoid_q16(t / 65536)) <= 6


@given(int32s, slopes, slopes, scores, scores, doubts, doubts)
def test_logistic_never_falls(
    b0: int, b1: int, b2: int, s1: int, s2: int, m1: int, m2: int
) -> None:
    score, doubt = (np.array(sorted(pair), np.uint32) for pair in ((s1, s2), (m1, m2)))
    low, high = map_logistic_q16(MapLogistic(b0, b1, b2), score, doubt)
    assert low <= high


steps = st.lists(st.integers(0, 2**20), max_size=32, unique=True)


@given(steps, st.randoms(), st.integers(0, 65536), scores, scores, doubts, doubts)
def test_isotonic_never_falls(
    breakpoints: list[int],
    random: np.random.Generator,
    gamma: int,
    s1: int,
    s2: int,
    m1: int,
    m2: int,
) -> None:
    values = sorted(random.randint(0, 65536) for _ in range(len(breakpoints) + 1))
    parameters = MapIsotonic(
        gamma, np.array(sorted(breakpoints), np.uint32), np.array(values, np.uint32)
    )
    score, doubt = (np.array(sorted(pair), np.uint32) for pair in ((s1, s2), (m1, m2)))
    low, high = map_isotonic_q16(parameters, score, doubt)
    assert low <= high


@pytest.mark.parametrize("case", RISING, ids=lambda case: f"{case.kernel}-{case.name}")
def test_the_vectors_of_the_golden_sweeps_rise(case) -> None:
    """The very numbers that C computes on the device: so U rises there, too."""
    u = case.vectors().expected.astype(np.int64)
    assert np.all(np.diff(u) >= 0)
    # Not where the map does not read what rises, or where doubt moves psi too little for a step.
    blind = ("no_gate_surprise", "logistic_s_confidence", "isotonic_confidence")
    if not case.name.endswith((*blind, "percentile_confidence")):
        assert len(np.unique(u)) > 10


def test_isotonic_steps_at_the_breakpoint() -> None:
    parameters = MapIsotonic(65536, np.array([100, 200], np.uint32), np.array([1, 2, 3], np.uint32))
    scores = np.array([99, 100, 199, 200], np.uint32)
    actual = map_isotonic_q16(parameters, scores, np.zeros(4, np.uint32))
    assert actual.tolist() == [1, 2, 2, 3]
