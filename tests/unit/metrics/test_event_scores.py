"""Scores of events on a stream against scikit-learn, and worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom
from sklearn.metrics import average_precision_score, precision_recall_curve

from snapcli.metrics.bootstrap import draw_blocks
from snapcli.metrics.event_scores import (
    delay_interval,
    delays,
    event_weights,
    false_positive_rate,
    frame_auprc,
    miss_rate,
    threshold_by_f1,
    threshold_by_recall,
)
from snapcli.metrics.events import Event, event_frames
from tests.unit.metrics.samples import Sample, ones, samples

SHORT, LONG = Event(10, 12), Event(20, 28)


def test_every_event_weighs_as_much_as_what_is_around_them() -> None:
    weights = event_weights((SHORT, LONG), 40)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights[10:12], 1 / 3 / 2)
    np.testing.assert_allclose(weights[20:28], 1 / 3 / 8)
    outside = ~event_frames((SHORT, LONG), 40)
    np.testing.assert_allclose(weights[outside], 1 / 3 / 30)


def test_a_stream_of_nothing_else_is_weighted_as_well() -> None:
    np.testing.assert_allclose(event_weights((), 5), 1 / 5)
    np.testing.assert_allclose(event_weights((Event(0, 4), Event(4, 5)), 5), [*[1 / 8] * 4, 1 / 2])


def test_auprc_is_scikit_learn_s_with_both_kinds_of_weights() -> None:
    rng = np.random.default_rng(0)
    events = (SHORT, LONG, Event(100, 190))
    active = event_frames(events, 300)
    score = rng.integers(0, 30, 300) / 30 + 0.3 * active
    resamples, weights = draw_blocks(300, 20, 5, seed=0), event_weights(events, 300)
    found = frame_auprc(active, score, resamples), frame_auprc(active, score, resamples * weights)
    for frame, weighted, row in zip(*found, resamples, strict=True):
        assert frame == pytest.approx(average_precision_score(active, score, sample_weight=row))
        oracle = average_precision_score(active, score, sample_weight=row * weights)
        assert weighted == pytest.approx(oracle)


def test_a_missed_short_event_costs_more_when_events_are_weighted() -> None:
    active = event_frames((SHORT, LONG), 40)
    score = event_frames((LONG,), 40).astype(float)
    plain = frame_auprc(active, score, ones(40))[0]
    weighted = frame_auprc(active, score, event_weights((SHORT, LONG), 40)[None])[0]
    assert plain == pytest.approx(8 / 10 + 2 / 10 * 10 / 40)
    assert weighted == pytest.approx(1 / 2 + 1 / 2 * 2 / 3)


@given(samples())
def test_thresholds_are_the_best_of_scikit_learn_s_curve(sample: Sample) -> None:
    active, score, _ = sample
    active[0] = True
    precision, recall, thresholds = precision_recall_curve(active, score)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    alarm = score >= threshold_by_f1(score, active)
    assert 2 * (alarm & active).sum() / (alarm.sum() + active.sum()) == pytest.approx(f1.max())
    for share in (0.25, 0.5, 0.9, 1.0):
        enough = thresholds[recall[:-1] >= share]
        assert threshold_by_recall(score, active, share) == max(enough)


def test_of_equal_f1_the_one_with_more_recall_is_taken() -> None:
    active, score = np.array([True, False, False, True]), np.array([0.9, 0.8, 0.7, 0.6])
    # F1 is 2/3 with the first alone and with all four.
    assert threshold_by_f1(score, active) == 0.6


def test_a_recall_that_is_reached_exactly_is_reached() -> None:
    """0.55 * 100 is more than 55 in floating point."""
    assert threshold_by_recall(np.arange(100), np.ones(100, bool), 0.55) == 45


def test_without_events_there_is_no_alarm() -> None:
    score, never = np.array([0.1, 5.0]), np.zeros(2, bool)
    assert threshold_by_f1(score, never) == threshold_by_recall(score, never) == np.inf


def test_delays_are_to_the_first_alarm_inside() -> None:
    alarm = np.zeros(40, bool)
    alarm[[9, 23, 25, 28]] = True  # before the one, twice in the other, after it
    np.testing.assert_array_equal(delays((SHORT, LONG), alarm), [np.nan, 3])
    alarm[10] = True
    np.testing.assert_array_equal(delays((SHORT, LONG), alarm), [0, 3])
    assert len(delays((), alarm)) == 0


def test_misses_are_counted_not_waited_for() -> None:
    assert miss_rate(np.array([np.nan, 3.0, 5.0, np.nan])) == 0.5
    assert np.isnan(miss_rate(np.array([])))
    assert delay_interval(np.array([np.nan, 3.0, 5.0, 10.0]), 10, seed=0).value == 5
    assert np.isnan(delay_interval(np.full(20, np.nan), 10, seed=0).value)
    assert np.isnan(delay_interval(np.array([]), 10, seed=0).value)


@pytest.mark.parametrize("events", [1, 2, 9, 10, 11, 30])
def test_a_delay_has_an_interval_from_ten_events_on(events: int) -> None:
    frames = np.random.default_rng(events).integers(0, 100, events).astype(float)
    found = delay_interval(frames, 200, seed=0)
    assert found.value == np.median(frames)
    if events < 10:
        assert np.isnan([found.low, found.high]).all()
    else:
        assert frames.min() <= found.low <= found.value <= found.high <= frames.max()


def test_the_interval_of_the_delay_is_the_exact_one() -> None:
    """Of an odd number of events: the median of a resample is below a value if most drawn are."""
    n = 21
    below = np.array([1 - binom.cdf(n // 2, n, k / n) for k in range(n + 1)])  # k smallest
    found = delay_interval(np.arange(n, dtype=float), 4000, seed=0)
    assert found.low == pytest.approx(np.searchsorted(below, 0.025) - 1, abs=1)
    assert found.high == pytest.approx(np.searchsorted(below, 0.975) - 1, abs=1)


def test_false_positives_are_those_on_clean_frames() -> None:
    score, clean = np.array([0.1, 0.5, 0.9, 0.9]), np.array([True, True, True, False])
    assert false_positive_rate(score, clean, 0.5) == pytest.approx(2 / 3)
    assert false_positive_rate(score, clean, np.inf) == 0
    assert np.isnan(false_positive_rate(score, np.zeros(4, bool), 0.5))
