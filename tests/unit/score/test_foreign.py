"""F: a rank among clean data that no foreign example was needed for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.monitor.decision import on_device
from snapcli.score.foreign import LOGIT, fit_foreign
from snapcli.score.maps import OWN, SCORE, Features

CLASSES = 3


def features(
    count: int = 2000,
    seed: int = 0,
    score: float = 0.0,
    error_logit: float = 0.0,
    own: float = 0.0,
    measured: bool = True,
) -> Features:
    """Each input shifted by so many of its deviations."""
    rng = np.random.default_rng(seed)
    log_score, logit, log_own = rng.normal(0, 1, (3, count))
    e = np.exp(0.2 * (log_score + score))
    logits = 2.0 * (logit + error_logit) - 4
    distances = np.exp(np.column_stack([0.5 * (log_own + own), np.ones(count)]))
    answer = rng.integers(0, CLASSES, count)
    nothing = np.zeros(count)
    return Features(
        e, logits, nothing, e[:, None], answer, CLASSES, distances=distances if measured else None
    )


@given(st.integers(0, 2**32 - 1), st.integers(20, 3000))
def test_it_is_calibrated_to_clean_data(seed: int, count: int) -> None:
    clean = features(count, seed)
    f = fit_foreign(clean, [])[0](clean)
    for rank in (0.5, 0.95):
        assert np.mean(f < rank) == pytest.approx(rank, abs=2 / count)


@pytest.mark.parametrize(
    ("shift", "expected"),
    [
        ({"score": 1.0, "error_logit": 1.0}, (SCORE, LOGIT)),
        ({"own": 1.0, "error_logit": 1.0}, (LOGIT, OWN)),
        ({"own": 1.0, "error_logit": 1.0, "score": 1.0}, (SCORE, LOGIT, OWN)),
        # Nothing tells them apart: the simplest.
        ({}, (SCORE, LOGIT)),
    ],
)
def test_it_reads_what_tells_shifted_data_from_clean(
    shift: dict[str, float], expected: tuple[str, ...]
) -> None:
    fitted, inputs = fit_foreign(features(), [features(seed=1, **shift)])
    assert inputs == expected
    assert {gate.input for gate in fitted.gates} == set(expected) - {LOGIT}


def test_it_grows_with_each_of_its_inputs() -> None:
    shifted = features(seed=1, own=1.0, error_logit=1.0, score=1.0)
    fitted, _ = fit_foreign(features(), [shifted])
    plain = fitted(features(seed=2))
    for name in ("score", "error_logit", "own"):
        assert np.all(fitted(features(seed=2, **{name: 0.5})) > plain)


def test_each_input_counts_by_its_spread_on_clean_data() -> None:
    """As far beyond the usual as 95 % of clean data reach, each adds as much."""
    clean = features(40_000)
    shifted = features(seed=1, own=1.0, error_logit=1.0, score=1.0)
    fitted, _ = fit_foreign(clean, [shifted])
    base = fitted.rank(features(seed=2))
    steps = [
        np.mean(fitted.rank(features(seed=2, **{name: 1.0})) - base)
        for name in ("score", "error_logit", "own")
    ]
    assert steps == pytest.approx([np.mean(steps)] * 3, rel=0.05)


def test_without_heads_or_distances_confidence_is_left() -> None:
    bare = features(measured=False).without_taps()
    assert fit_foreign(bare, [])[1] == (LOGIT,)
    assert fit_foreign(features().without_taps(), [])[1] == (LOGIT,)
    measured = features(seed=1, own=2.0).without_taps()
    assert fit_foreign(features().without_taps(), [measured])[1] == (LOGIT, OWN)


def test_an_input_that_does_not_vary_does_not_count() -> None:
    clean = features(measured=False)
    constant = Features(**{**vars(clean), "score": np.ones(len(clean.score))})
    fitted, _ = fit_foreign(constant, [])
    assert [gate.slope for gate in fitted.gates] == [0.0]
    assert np.ptp(fitted(constant)) > 0.5


def test_the_device_computes_the_same() -> None:
    shifted = features(seed=1, own=1.0, error_logit=1.0, score=1.0)
    fitted, _ = fit_foreign(features(), [shifted])
    for some in (features(seed=3), shifted, features(seed=4, own=4.0, score=-30.0)):
        np.testing.assert_allclose(on_device(fitted)(some), fitted(some), atol=1e-3)
