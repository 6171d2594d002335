"""The map that knows the answer: against scikit-learn, and what it promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from snapcli.config import FitOptions
from snapcli.score.maps import ClassGatedMap, Features, fit, reads_surprise

from .test_maps import CLASSES, Drawn, draw

OFTEN_WRONG = np.array([-1.5, 0.0, 1.5, 0.0])


KINDS = pytest.mark.parametrize("kind", ["class-gated", "evidence"])


def by_answer(
    offset: np.ndarray = OFTEN_WRONG, strange: np.ndarray = OFTEN_WRONG, count: int = 4000
) -> Drawn:
    """Errors as draw() has them, and by answer: everywhere and, further, on strange inputs; and by
    how near the answered class and the next are."""
    features, _, clean = draw(count, seed=3)
    excess = np.maximum(0, np.log(features.surprisal).max(axis=1) - 0.4)
    risk = 0.8 * features.error_logit + 0.8 * excess + offset[features.answer]
    risk = risk + strange[features.answer] * np.minimum(1, excess / 0.7)
    risk = risk + 0.9 * features.log_own() - 0.4 * features.log_next()
    return features, np.random.default_rng(4).random(count) < expit(risk), clean


def fitted(data: Drawn, balanced: bool = True, kind: str = "class-gated") -> ClassGatedMap:
    found = fit(kind, *data, FitOptions(balanced))
    assert isinstance(found, ClassGatedMap)
    return found


def parts(features: Features, clean: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Excess [n, taps], cap [taps] and o [n]."""
    x = np.log(features.surprisal)
    excess = np.maximum(0, x - np.quantile(x[clean], 0.9, axis=0))
    cap = np.maximum(0.3, np.median(excess[~clean], axis=0))
    return excess, cap, np.minimum(1, (excess / cap).max(axis=1))


@KINDS
@pytest.mark.parametrize("balanced", [True, False])
def test_it_is_scikit_learns_ridge(kind: str, balanced: bool) -> None:
    features, wrong, clean = by_answer(OFTEN_WRONG / 4, OFTEN_WRONG / 8)
    # A third of the clean data are away, so that the rest weighs less than corrupted data.
    chosen = ~clean | (np.arange(len(clean)) % 3 > 0)
    chosen &= clean | (np.arange(len(clean)) % 2 > 0)
    features, wrong, clean = features.where(chosen), wrong[chosen], clean[chosen]
    found = fitted((features, wrong, clean), balanced, kind)
    excess, cap, o = parts(features, clean)
    np.testing.assert_allclose([tap.cap for tap in found.taps], cap)
    columns = np.column_stack(
        [features.error_logit, np.minimum(0, features.error_logit) * (1 - o), excess]
    )
    if kind == "evidence":
        own, following = np.log(features.distances).T
        columns = np.column_stack([columns, own, own - following])
    one_hot = np.eye(CLASSES)[features.answer]
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    weight = np.where(clean, (~clean).sum() / clean.sum(), 1.0)
    assert weight[clean][0] < 1
    if balanced:
        part = weight[wrong].sum() / weight.sum()
        weight *= np.where(wrong, 0.5 / part, 0.5 / (1 - part))
    errors = one_hot[wrong].sum(axis=0)
    reach = 0.5 * errors / (errors + 5)
    told = reach * one_hot
    model = LogisticRegression(C=0.1, tol=1e-10, max_iter=5000)
    model.fit(np.column_stack([standard, told, told * o[:, None]]), wrong, weight)
    slopes, tables = np.split(model.coef_[0], [columns.shape[1]])
    assert np.all(slopes > 0)  # else the oracle, which knows no bound, is none
    offset, strange = np.split(tables, 2)
    floor = -np.min((slopes / columns.std(axis=0))[2:4] * cap)
    assert np.all(reach * strange > floor)
    got = [found.b2, found.familiar, *(tap.slope for tap in found.taps), found.own, found.ratio]
    assert found.reads_distance == (kind == "evidence") == (got[-1] > 0)
    got = got[: columns.shape[1]]
    np.testing.assert_allclose(got, slopes / columns.std(axis=0), rtol=0.01, atol=1e-3)
    np.testing.assert_allclose(found.offset, reach * offset, rtol=0.01, atol=1e-3)
    np.testing.assert_allclose(found.strange_offset, reach * strange, rtol=0.01, atol=1e-3)


def test_answers_that_are_wrong_more_often_have_more_u() -> None:
    features, wrong, clean = by_answer(count=40_000)
    found = fitted((features, wrong, clean), balanced=False)
    assert np.all(np.diff(np.array(found.offset)[[0, 1, 2]]) > 0.2)
    assert np.all(np.diff(np.array(found.strange_offset)[[0, 1, 2]]) > 0.2)
    assert found.offset[1] == pytest.approx(found.offset[3], abs=0.1)
    u = found(features)
    for answer in range(CLASSES):
        of = features.answer == answer
        assert u[of].mean() == pytest.approx(wrong[of].mean(), abs=0.05)


def test_an_answer_with_few_examples_has_next_to_no_offset() -> None:
    features, wrong, clean = by_answer()
    rare = replace(features, answer=np.where(np.arange(len(wrong)) < 4, 0, 1), classes=3)
    wrong = np.where(rare.answer == 0, True, wrong)
    found = fitted((rare, wrong, clean))
    assert 0 < found.offset[0] < 0.2
    # Nobody ever answered 2.
    assert found.offset[2] == found.strange_offset[2] == 0


def test_an_answer_with_few_errors_has_next_to_no_offset() -> None:
    """However often it was right: what the field will show of it is not known."""
    features, wrong, clean = by_answer(count=40_000)
    right = np.flatnonzero(~wrong)[:5000]
    answer = features.answer.copy()
    answer[right] = CLASSES
    few = replace(features, answer=answer, classes=CLASSES + 1)
    found = fitted((few, wrong, clean))
    assert found.offset[CLASSES] == found.strange_offset[CLASSES] == 0
    # One error in five thousand moves it a little, a hundred do more.
    offsets = []
    for errors in (1, 100):
        answer[np.flatnonzero(wrong)[:errors]] = CLASSES
        offsets.append(fitted((replace(few, answer=answer), wrong, clean)).offset[CLASSES])
    assert 3 * abs(offsets[0]) < abs(offsets[1])


@KINDS
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    slopes=st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    count=st.sampled_from([40, 300, 2000]),
)
def test_u_never_falls_with_a_tap_the_error_logit_or_a_distance(
    kind: str, seed: int, slopes: tuple[float, float], count: int
) -> None:
    """Whatever dev data say: slopes of either sign, and answers that surprise would clear."""
    features, wrong, clean = draw(count, seed, slopes)
    rng = np.random.default_rng(seed)
    cleared = (features.answer < 2) & ~clean & (rng.random(count) < 0.9)
    found = fitted((features, wrong & ~cleared, clean), kind=kind)
    end = 400
    ramp, still = np.exp(np.linspace(-3, 6, end)), np.ones(end)
    for answer in range(CLASSES):
        for logit in (-12.0, -2.0, 0.0, 2.0):
            for surprisal in ([ramp, still], [still, ramp], [ramp, ramp], [ramp, 9 * still]):
                given_ = Features(
                    still,
                    np.full(end, logit),
                    still,
                    np.stack(surprisal, axis=-1),
                    np.full(end, answer),
                    CLASSES,
                    distances=np.ones((end, 2)),
                )
                assert np.all(np.diff(found.rank(given_)) >= -1e-9)
        for surprise in (0.5, 2.0, 50.0):
            given_ = Features(
                still,
                np.linspace(-12, 3, end),
                still,
                np.full((end, 2), surprise),
                np.full(end, answer),
                CLASSES,
                distances=np.ones((end, 2)),
            )
            assert np.all(np.diff(found.rank(given_)) >= -1e-9)
            for distances in ([ramp, still], [still, 1 / ramp], [ramp, 1 / ramp]):
                nearer = replace(given_, error_logit=-still, distances=np.stack(distances, axis=-1))
                assert np.all(np.diff(found.rank(nearer)) >= -1e-9)


def test_a_table_that_would_clear_strange_answers_is_lifted() -> None:
    """To where the surest slope still makes up for it."""
    found = fitted(by_answer(strange=np.array([-9.0, 3.0, 3.0, 3.0]), count=40_000))
    least = min(tap.slope * tap.cap for tap in found.taps)
    assert found.strange_offset[0] == pytest.approx(-least)
    assert min(found.strange_offset[1:]) > -least


def test_without_corrupted_data_it_is_fitted_all_the_same() -> None:
    features, wrong, _ = by_answer()
    found = fitted((features, wrong, np.ones(len(wrong), bool)))
    assert [tap.cap for tap in found.taps] == [0.3, 0.3]
    assert np.mean(found(features)) == pytest.approx(wrong.mean(), abs=1e-6)


def test_constant_surprise_is_not_read() -> None:
    features, wrong, clean = by_answer()
    found = fitted((replace(features, surprisal=np.full((len(wrong), 2), 0.7)), wrong, clean))
    assert [tap.slope for tap in found.taps] == [0, 0]
    assert not any(found.strange_offset)
    assert reads_surprise(fitted((features, wrong, clean)))


@KINDS
def test_without_class_offsets_the_answer_does_not_count(kind: str) -> None:
    features, wrong, clean = by_answer()
    found = fit(kind, features, wrong, clean, FitOptions(class_offsets=False))
    assert isinstance(found, ClassGatedMap)
    assert not any((*found.offset, *found.strange_offset))
    assert found.b2 > 0 < min(tap.slope for tap in found.taps)
    other = replace(features, answer=(features.answer + 1) % CLASSES)
    np.testing.assert_array_equal(found(features), found(other))
    told = fitted((features, wrong, clean), kind=kind)
    assert np.abs(told(features) - told(other)).max() > 0.1


def xor(count: int = 6000) -> Drawn:
    """Wrong where one of two is high, but not both: no sum of them tells."""
    features, _, clean = by_answer(count=count)
    far, sure = features.log_own() > 0, features.error_logit > -3
    wrong = np.random.default_rng(5).random(count) < np.where(far != sure, 0.8, 0.1)
    return features, wrong, clean


def test_a_hidden_layer_finds_what_no_sum_tells() -> None:
    features, wrong, clean = xor()
    aurocs = []
    for units in (0, 16):
        found = fit("evidence", features, wrong, clean, FitOptions(hidden=units))
        assert isinstance(found, ClassGatedMap)
        assert len(found.hidden) == units
        assert np.mean(found(features)) == pytest.approx(wrong.mean(), abs=1e-6)
        aurocs.append(roc_auc_score(wrong, found.rank(features)))
    assert aurocs[1] > aurocs[0] + 0.1


def test_a_hidden_layer_is_fitted_the_same_every_time_and_to_evidence_alone() -> None:
    how = FitOptions(hidden=4)
    assert fit("evidence", *xor(600), how) == fit("evidence", *xor(600), how)
    other = fit("class-gated", *xor(600), how)
    assert isinstance(other, ClassGatedMap)
    assert other.hidden == ()


def test_without_class_offsets_a_hidden_layer_does_not_know_the_answer() -> None:
    found = fit("evidence", *xor(600), FitOptions(class_offsets=False, hidden=4))
    assert isinstance(found, ClassGatedMap)
    assert all(len(set(unit.bias)) == 1 for unit in found.hidden)


@KINDS
def test_it_works_without_heads(kind: str) -> None:
    features, wrong, clean = by_answer()
    bare = features.without_taps()
    found = fitted((bare, wrong, clean), kind=kind)
    assert found.taps == ()
    assert not reads_surprise(found)
    assert np.diff(np.array(found.offset)[[0, 1, 2]]).min() > 0.2
    assert np.mean(found(bare)) == pytest.approx(wrong.mean(), abs=1e-6)
