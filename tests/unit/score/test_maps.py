"""The fitted maps against scikit-learn, and what every map promises."""

from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import percentileofscore
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from snapcli.config import MAPS, FitOptions
from snapcli.score.maps import (
    MAX_BREAKPOINTS,
    PERCENTILES,
    SCORE,
    THIRD,
    ClassGatedMap,
    Features,
    Gate,
    GatedMap,
    LogisticMap,
    Map,
    StaircaseMap,
    TapGate,
    fit,
    map_to_dict,
    reads_third,
    tap_input,
    tap_of,
)

# Those that learn from labels how likely an error is.
PROBABILITIES = ("gated", "gated-taps", "class-gated", "evidence", "logistic", "isotonic")
every_map = pytest.mark.parametrize("kind", MAPS)
every_probability = pytest.mark.parametrize("kind", PROBABILITIES)
with_and_without_third = pytest.mark.parametrize("third", [False, True])
CLASSES = 4
Drawn = tuple[Features, np.ndarray, np.ndarray]


def draw(
    count: int = 4000,
    seed: int = 0,
    slopes: tuple[float, float] = (1.2, 0.8),
    third: bool = False,
) -> Drawn:
    """Errors that grow with log S beyond clean data and with the error logit; half is clean.

    S is the mean of two taps. The third input speaks of errors, too, where there is one.
    """
    rng = np.random.default_rng(seed)
    clean = np.arange(count) < count // 2
    shift = np.where(clean[:, np.newaxis], 0.0, rng.exponential(1.0, (count, 2)))
    surprisal = np.exp(rng.normal(0, 0.3, (count, 2)) + shift)
    score = surprisal.mean(axis=-1)
    error_logit = rng.normal(-3, 2, count)
    # The margin's part makes doubt more than a copy of the error logit.
    doubt = np.clip(expit(error_logit) * rng.uniform(1.0, 1.5, count), 0, 1)
    foreign = rng.normal(-7, 1.0, count)
    risk = slopes[0] * np.maximum(np.log(score) - 0.4, 0) + slopes[1] * error_logit
    risk = risk + 0.9 * np.maximum(foreign + 6, 0) if third else risk
    wrong = rng.random(count) < expit(risk)
    given = foreign if third else None
    answer = rng.integers(0, CLASSES, count)
    distances = np.exp(rng.normal([0, 1], 1, (count, 2)))
    features = Features(score, error_logit, doubt, surprisal, answer, CLASSES, given, distances)
    return features, wrong, clean


def flat(score: np.ndarray, error_logit: np.ndarray, doubt: np.ndarray) -> Features:
    """All taps, the third input and the way from the answered class say the same as S; all answers
    are one."""
    surprisal, answer = np.stack([score, score], axis=-1), np.ones(len(score), int)
    third = np.log(np.maximum(score, 1e-9))
    distances = np.stack([score, np.ones(len(score))], axis=-1)
    return Features(score, error_logit, doubt, surprisal, answer, CLASSES, third, distances)


@cache
def fitted(kind: str, third: bool = False) -> Map:
    return fit(kind, *draw(third=third))


def slopes_of(columns: list[np.ndarray], wrong: np.ndarray, balanced: bool = True) -> np.ndarray:
    """Without any penalty, in the columns' own units."""
    weight = "balanced" if balanced else None
    model = LogisticRegression(C=np.inf, class_weight=weight, tol=1e-8, max_iter=5000)
    return model.fit(np.stack(columns, axis=-1), wrong).coef_[0]


def excess(x: np.ndarray, clean: np.ndarray) -> np.ndarray:
    return np.maximum(0, x - np.quantile(x[clean], 0.9))


@pytest.mark.parametrize("balanced", [True, False])
@with_and_without_third
@pytest.mark.parametrize("kind", ["gated", "gated-taps"])
def test_slopes_of_the_gated_maps_are_scikit_learns(kind: str, third: bool, balanced: bool) -> None:
    features, wrong, clean = draw(third=third)
    found = fit(kind, features, wrong, clean, FitOptions(balanced))
    assert isinstance(found, GatedMap)
    inputs = {SCORE: np.log(features.score)}
    if kind == "gated-taps":
        inputs = {tap_input(i): np.log(features.surprisal[:, i]) for i in range(2)}
    if features.third is not None:
        inputs[THIRD] = features.third
    assert [gate.input for gate in found.gates] == list(inputs)
    assert reads_third(found) == third
    for gate, x in zip(found.gates, inputs.values(), strict=True):
        assert gate.theta == pytest.approx(np.quantile(x[clean], 0.9))
    columns = [features.error_logit, *(excess(x, clean) for x in inputs.values())]
    expected = slopes_of(columns, wrong, balanced)
    assert np.all(expected > 0)
    slopes = [found.b2, *(gate.slope for gate in found.gates)]
    np.testing.assert_allclose(slopes, expected, rtol=0.03)


@pytest.mark.parametrize("balanced", [True, False])
def test_slopes_of_the_logistic_maps_are_scikit_learns(balanced: bool) -> None:
    features, wrong, clean = draw()
    found = fit("logistic", features, wrong, clean, FitOptions(balanced))
    assert isinstance(found, LogisticMap)
    expected = slopes_of([features.score, features.doubt], wrong, balanced)
    assert np.all(expected > 0)
    np.testing.assert_allclose([found.b1, found.b2], expected, rtol=0.02)
    alone = fit("logistic-s", features, wrong, clean, FitOptions(balanced))
    assert isinstance(alone, LogisticMap)
    assert alone.b2 == 0
    assert alone.b1 == pytest.approx(slopes_of([features.score], wrong, balanced)[0], rel=0.02)


def test_temperature_is_the_softmax_itself() -> None:
    p = np.array([0.4, 0.9, 0.9999])
    features = replace(draw(3)[0], error_logit=np.log((1 - p) / p))
    np.testing.assert_allclose(fitted("temperature")(features), 1 - p)


@every_probability
@pytest.mark.parametrize("balanced", [True, False])
def test_the_mean_of_u_is_the_error_rate(kind: str, balanced: bool) -> None:
    features, wrong, clean = draw()
    u = fit(kind, features, wrong, clean, FitOptions(balanced))(features)
    # Isotonic values are clamped to [1e-4, 1 - 1e-4], which may move the mean as much.
    assert np.mean(u) == pytest.approx(wrong.mean(), abs=2e-4)


@every_map
@with_and_without_third
@given(
    st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(-30, 30), st.floats(-30, 30),
    st.floats(0, 1), st.floats(0, 1),
)  # fmt: skip
def test_u_never_falls_with_surprise_or_doubt(
    kind: str, third: bool, s1: float, s2: float, e1: float, e2: float, m1: float, m2: float
) -> None:
    ends = [np.array(sorted(pair)) for pair in ((s1, s2), (e1, e2), (m1, m2))]
    low, high = fitted(kind, third)(flat(*ends))
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize(
    ("kind", "slopes"),
    [
        ("gated", (-2.0, 0.8)),
        ("gated", (1.2, -0.8)),
        ("gated-taps", (1.2, -0.8)),
        ("logistic", (-2.0, 0.8)),
    ],
)
def test_a_column_that_would_lower_u_is_dropped(kind: str, slopes: tuple[float, float]) -> None:
    features, wrong, clean = draw(slopes=slopes)
    found = fit(kind, features, wrong, clean)
    if isinstance(found, GatedMap):
        surprise, confidence = [gate.slope for gate in found.gates] or [0], found.b2
        logs = [features.log_score()]
        if kind == "gated-taps":
            logs = list(np.log(features.surprisal).T)
        columns = [excess(x, clean) for x in logs]
        confidence_column = features.error_logit
    else:
        assert isinstance(found, LogisticMap)
        surprise, confidence = [found.b1], found.b2
        columns, confidence_column = [features.score], features.doubt
    if slopes[0] < 0:
        assert surprise == [0]
        # What stays is fitted as if the other had never been there.
        expected = slopes_of([confidence_column], wrong)
        assert confidence == pytest.approx(expected[0], rel=0.02)
    else:
        assert confidence == 0
        np.testing.assert_allclose(surprise, slopes_of(columns, wrong), rtol=0.02)
    assert np.mean(found(features)) == pytest.approx(wrong.mean(), abs=1e-6)


@pytest.mark.parametrize("kind", ["gated", "gated-taps"])
def test_a_third_input_that_says_nothing_is_not_read(kind: str) -> None:
    features, wrong, clean = draw(third=True)
    found = fit(kind, replace(features, third=np.full(len(wrong), 2.5)), wrong, clean)
    assert found == fit(kind, replace(features, third=None), wrong, clean)
    assert not reads_third(found)


@pytest.mark.parametrize("kind", ["gated", "gated-taps"])
@with_and_without_third
def test_gates_are_closed_in_the_usual_range(kind: str, third: bool) -> None:
    found = fitted(kind, third)
    assert isinstance(found, GatedMap)
    usual = np.exp(min(gate.theta for gate in found.gates)) * np.array([1e-3, 0.5, 0.999])
    u = found(flat(usual, np.full(3, -2.0), np.zeros(3)))
    assert len(set(u)) == 1


def few_steps() -> Drawn:
    """Twelve different doubts: no more steps than breakpoints."""
    rng = np.random.default_rng(4)
    doubt = rng.integers(0, 12, 3000) / 12
    wrong = rng.random(3000) < 0.05 + 0.8 * doubt
    return flat(rng.uniform(0.5, 1.5, 3000), doubt, doubt), wrong, np.ones(3000, bool)


def psi_of(found: StaircaseMap, features: Features) -> np.ndarray:
    return found.gamma * features.score + (1 - found.gamma) * features.doubt


def isotonic(data: Drawn) -> StaircaseMap:
    found = fit("isotonic", *data)
    assert isinstance(found, StaircaseMap)
    return found


def test_isotonic_is_scikit_learns() -> None:
    data = few_steps()
    found = isotonic(data)
    psi = psi_of(found, data[0])
    oracle = IsotonicRegression().fit(psi, data[1])
    assert len(found.breakpoints) < MAX_BREAKPOINTS
    np.testing.assert_allclose(
        found(data[0]), np.clip(oracle.predict(psi), 1e-4, 1 - 1e-4), rtol=1e-12
    )


@given(st.integers(0, 2**32 - 1), st.integers(2, 3000))
def test_isotonic_is_a_rising_staircase_of_limited_length(seed: int, count: int) -> None:
    found = isotonic(draw(count, seed))
    assert len(found.values) == len(found.breakpoints) + 1 <= MAX_BREAKPOINTS + 1
    assert list(found.breakpoints) == sorted(found.breakpoints)
    assert list(found.values) == sorted(found.values)
    assert np.all((np.array(found.values) > 0) & (np.array(found.values) < 1))


def test_thinned_steps_stay_near_scikit_learns() -> None:
    data = draw(60_000, 5)
    found = isotonic(data)
    psi = psi_of(found, data[0])
    oracle = IsotonicRegression().fit(psi, data[1]).predict(psi)
    assert len(np.unique(oracle)) > MAX_BREAKPOINTS + 1
    assert len(found.breakpoints) == MAX_BREAKPOINTS
    assert np.abs(found(data[0]) - oracle).mean() < 0.02


def on_the_grid(data: Drawn) -> Drawn:
    """Scores as the device has them, with many ties."""
    score = np.rint(data[0].score * 2**10) / 2**10
    return replace(data[0], score=score), data[1], data[2]


@given(st.integers(0, 2**32 - 1), st.integers(2, 3000))
def test_a_percentile_is_the_share_of_clean_data_below(seed: int, count: int) -> None:
    features, wrong, clean = on_the_grid(draw(count, seed))
    found = fit("percentile", features, wrong, clean)
    assert isinstance(found, StaircaseMap)
    share = percentileofscore(features.score[clean], features.score, kind="strict") / 100
    levels = np.array([0.0, *PERCENTILES])
    expected = levels[np.searchsorted(levels, share + 1e-9, side="right") - 1]
    np.testing.assert_allclose(found(features), expected)
    assert len(found.breakpoints) <= MAX_BREAKPOINTS
    assert list(found.breakpoints) == sorted(set(found.breakpoints))
    # Nobody's mistakes were looked at.
    assert fit("percentile", features, ~wrong, clean) == found


def test_the_percentiles_people_ask_for_are_steps() -> None:
    assert {0.5, 0.8, 0.9, 0.95, 0.99, 0.995} < set(PERCENTILES)
    assert list(PERCENTILES) == sorted(set(PERCENTILES))
    assert len(PERCENTILES) <= MAX_BREAKPOINTS


@every_probability
@pytest.mark.parametrize("all_wrong", [False, True])
def test_dev_data_without_errors_or_hits_give_a_flat_map(kind: str, all_wrong: bool) -> None:
    features, _, clean = draw(200)
    u = fit(kind, features, np.full(200, all_wrong), clean)(features)
    np.testing.assert_allclose(u, 1 - 1e-4 if all_wrong else 1e-4, rtol=1e-3)


@pytest.mark.parametrize("kind", ["gated", "gated-taps", "logistic", "isotonic"])
@pytest.mark.parametrize("constant", ["score", "doubt"])
def test_a_constant_feature_does_no_harm(kind: str, constant: str) -> None:
    features, wrong, clean = draw()
    same = np.full(len(wrong), 0.7)
    if constant == "doubt":
        features = replace(features, doubt=same, error_logit=same)
    else:
        features = replace(features, score=same, surprisal=np.stack([same, same], axis=-1))
    found = fit(kind, features, wrong, clean)
    # It says nothing, so elsewhere, where it is not constant, it must not count either.
    if isinstance(found, LogisticMap):
        assert (found.b1, found.b2)[constant == "doubt"] == 0
    if isinstance(found, GatedMap):
        surprise = sum(gate.slope for gate in found.gates)
        assert (surprise, found.b2)[constant == "doubt"] == 0
    u = found(features)
    assert np.mean(u) == pytest.approx(wrong.mean(), abs=2e-4)
    # The other feature still tells the wrong from the right.
    assert u[wrong].mean() > u[~wrong].mean() + 0.02


@every_map
def test_a_map_is_told_with_all_its_parameters(kind: str) -> None:
    found = fitted(kind)
    values = map_to_dict(found)
    assert values["kind"] == kind == found.kind
    if isinstance(found, GatedMap):
        values["gates"] = tuple(Gate(**gate) for gate in values["gates"])
    if isinstance(found, ClassGatedMap):
        values["taps"] = tuple(TapGate(**tap) for tap in values["taps"])
    assert type(found)(**values) == found


def test_features_are_put_together_in_order() -> None:
    parts = [draw(5, seed, third=True)[0] for seed in (1, 2)]
    joint = Features.concatenate(parts)
    values_of = asdict(joint)
    assert values_of.pop("classes") == CLASSES
    for name, values in values_of.items():
        expected = np.concatenate([getattr(p, name) for p in parts])
        np.testing.assert_array_equal(values, expected, err_msg=name)
    assert Features.concatenate([draw(5)[0]]).third is None


def test_a_gate_names_its_tap() -> None:
    assert [tap_of(tap_input(i)) for i in (0, 7, 12)] == [0, 7, 12]
    assert tap_of(SCORE) is tap_of(THIRD) is None


def test_a_score_of_zero_has_a_logarithm() -> None:
    zero = flat(np.zeros(1), np.zeros(1), np.zeros(1))
    assert zero.log_score() == np.log(2.0**-16)
