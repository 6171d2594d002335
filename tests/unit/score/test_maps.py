"""The fitted maps against scikit-learn, and what every map promises."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from snapcli.score.maps import (
    MAPS,
    MAX_BREAKPOINTS,
    Features,
    GatedMap,
    IsotonicMap,
    LogisticMap,
    Map,
    map_to_dict,
)

every_map = pytest.mark.parametrize("kind", MAPS)


def draw(
    count: int = 4000, seed: int = 0, slopes: tuple[float, float] = (1.2, 0.8)
) -> tuple[Features, np.ndarray, np.ndarray]:
    """Errors that grow with log S beyond clean data and with the error logit; half is clean."""
    rng = np.random.default_rng(seed)
    clean = np.arange(count) < count // 2
    log_score = rng.normal(0, 0.3, count) + np.where(clean, 0.0, rng.exponential(1.0, count))
    error_logit = rng.normal(-3, 2, count)
    # The margin's part makes doubt more than a copy of the error logit.
    doubt = np.clip(expit(error_logit) * rng.uniform(1.0, 1.5, count), 0, 1)
    risk = slopes[0] * np.maximum(log_score - 0.4, 0) + slopes[1] * error_logit
    wrong = rng.random(count) < expit(risk)
    return Features(np.exp(log_score), error_logit, doubt), wrong, clean


@cache
def fitted(kind: str) -> Map:
    return MAPS[kind].fit(*draw())


def balanced_slopes(columns: list[np.ndarray], wrong: np.ndarray) -> np.ndarray:
    """Without any penalty, in the columns' own units."""
    model = LogisticRegression(C=np.inf, class_weight="balanced", tol=1e-8, max_iter=5000)
    return model.fit(np.stack(columns, axis=-1), wrong).coef_[0]


def test_slopes_of_the_gated_map_are_scikit_learns() -> None:
    features, wrong, clean = draw()
    found = GatedMap.fit(features, wrong, clean)
    assert found.theta == pytest.approx(np.quantile(np.log(features.score[clean]), 0.9))
    excess = np.maximum(0, np.log(features.score) - found.theta)
    expected = balanced_slopes([excess, features.error_logit], wrong)
    assert np.all(expected > 0)
    np.testing.assert_allclose([found.b1, found.b2], expected, rtol=0.02)


def test_slopes_of_the_logistic_map_are_scikit_learns() -> None:
    features, wrong, clean = draw()
    found = LogisticMap.fit(features, wrong, clean)
    expected = balanced_slopes([features.score, features.doubt], wrong)
    assert np.all(expected > 0)
    np.testing.assert_allclose([found.b1, found.b2], expected, rtol=0.02)


@every_map
def test_the_mean_of_u_is_the_error_rate(kind: str) -> None:
    features, wrong, _ = draw()
    # Isotonic values are clamped to [1e-4, 1 - 1e-4], which may move the mean as much.
    assert np.mean(fitted(kind)(features)) == pytest.approx(wrong.mean(), abs=2e-4)


@every_map
@given(
    st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(-30, 30), st.floats(-30, 30),
    st.floats(0, 1), st.floats(0, 1),
)  # fmt: skip
def test_u_never_falls_with_surprise_or_doubt(
    kind: str, s1: float, s2: float, e1: float, e2: float, m1: float, m2: float
) -> None:
    ends = [sorted(pair) for pair in ((s1, s2), (e1, e2), (m1, m2))]
    low, high = fitted(kind)(Features(*(np.array(pair) for pair in ends)))
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize(
    ("kind", "slopes"), [("gated", (-2.0, 0.8)), ("gated", (1.2, -0.8)), ("logistic", (-2.0, 0.8))]
)
def test_a_column_that_would_lower_u_is_dropped(kind: str, slopes: tuple[float, float]) -> None:
    features, wrong, clean = draw(slopes=slopes)
    found = MAPS[kind].fit(features, wrong, clean)
    assert isinstance(found, GatedMap | LogisticMap)
    b = np.array([found.b1, found.b2])
    np.testing.assert_array_equal(b > 0, np.array(slopes) > 0)
    np.testing.assert_array_equal(b == 0, np.array(slopes) < 0)
    # What stays is fitted as if the other had never been there.
    columns = [features.score, features.doubt]
    if isinstance(found, GatedMap):
        excess = np.maximum(0, features.log_score() - found.theta)
        columns = [excess, features.error_logit]
    kept = int(np.argmax(b))
    np.testing.assert_allclose(b[kept], balanced_slopes([columns[kept]], wrong)[0], rtol=0.02)
    assert np.mean(found(features)) == pytest.approx(wrong.mean(), abs=1e-6)


def test_gated_ignores_surprise_in_the_usual_range() -> None:
    found = fitted("gated")
    assert isinstance(found, GatedMap)
    usual = np.exp(found.theta) * np.array([1e-3, 0.5, 0.999])
    u = found(Features(usual, np.full(3, -2.0), np.zeros(3)))
    assert len(set(u)) == 1


def few_steps() -> tuple[Features, np.ndarray, np.ndarray]:
    """Twelve different doubts: no more steps than breakpoints."""
    rng = np.random.default_rng(4)
    doubt = rng.integers(0, 12, 3000) / 12
    wrong = rng.random(3000) < 0.05 + 0.8 * doubt
    return Features(rng.uniform(0.5, 1.5, 3000), doubt, doubt), wrong, np.ones(3000, bool)


def test_isotonic_equals_scikit_learn_where_steps_suffice() -> None:
    features, wrong, clean = few_steps()
    found = IsotonicMap.fit(features, wrong, clean)
    psi = found.gamma * features.score + (1 - found.gamma) * features.doubt
    oracle = IsotonicRegression().fit(psi, wrong)
    assert len(found.breakpoints) < MAX_BREAKPOINTS
    np.testing.assert_allclose(
        found(features), np.clip(oracle.predict(psi), 1e-4, 1 - 1e-4), rtol=1e-12
    )


@given(st.integers(0, 2**32 - 1), st.integers(2, 3000))
def test_isotonic_is_a_rising_staircase_of_limited_length(seed: int, count: int) -> None:
    features, wrong, clean = draw(count, seed)
    found = IsotonicMap.fit(features, wrong, clean)
    assert len(found.values) == len(found.breakpoints) + 1 <= MAX_BREAKPOINTS + 1
    assert list(found.breakpoints) == sorted(found.breakpoints)
    assert list(found.values) == sorted(found.values)
    assert np.all((np.array(found.values) > 0) & (np.array(found.values) < 1))


def test_thinned_steps_stay_near_scikit_learns() -> None:
    features, wrong, clean = draw(60_000, 5)
    found = IsotonicMap.fit(features, wrong, clean)
    psi = found.gamma * features.score + (1 - found.gamma) * features.doubt
    oracle = IsotonicRegression().fit(psi, wrong).predict(psi)
    assert len(np.unique(oracle)) > MAX_BREAKPOINTS + 1
    assert len(found.breakpoints) == MAX_BREAKPOINTS
    assert np.abs(found(features) - oracle).mean() < 0.02


@every_map
@pytest.mark.parametrize("all_wrong", [False, True])
def test_dev_data_without_errors_or_hits_give_a_flat_map(kind: str, all_wrong: bool) -> None:
    features, _, clean = draw(200)
    u = MAPS[kind].fit(features, np.full(200, all_wrong), clean)(features)
    np.testing.assert_allclose(u, 1 - 1e-4 if all_wrong else 1e-4, rtol=1e-3)


@every_map
@pytest.mark.parametrize("constant", ["score", "doubt"])
def test_a_constant_feature_does_no_harm(kind: str, constant: str) -> None:
    features, wrong, clean = draw()
    values = {**vars(features), constant: np.full(len(wrong), 0.7)}
    if constant == "doubt":
        values["error_logit"] = values["doubt"]
    found = MAPS[kind].fit(Features(**values), wrong, clean)
    if isinstance(found, GatedMap | LogisticMap):
        # It says nothing, so elsewhere, where it is not constant, it must not count either.
        assert (found.b1, found.b2)[constant == "doubt"] == 0
    u = found(Features(**values))
    assert np.mean(u) == pytest.approx(wrong.mean(), abs=2e-4)
    # The other feature still tells the wrong from the right.
    assert u[wrong].mean() > u[~wrong].mean() + 0.02


@every_map
def test_a_map_is_told_with_all_its_parameters(kind: str) -> None:
    values = map_to_dict(fitted(kind))
    assert MAPS[values.pop("kind")](**values) == fitted(kind)


def test_a_score_of_zero_has_a_logarithm() -> None:
    zero = Features(np.zeros(1), np.zeros(1), np.zeros(1))
    assert zero.log_score() == np.log(2.0**-16)
