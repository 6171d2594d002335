"""What is said about an alarm: delays, false alarms, events, recovery, estimated accuracy."""

from dataclasses import replace

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.config import DETECTORS
from snapcli.judging import alarms
from snapcli.judging.alarms import (
    OFF_LIMIT,
    WATCHED,
    Asked,
    accuracy_estimate,
    clean_alarms,
    delays,
    fault_of,
    first_of,
    found,
    judge_scenes,
    judge_streams,
    try_detectors,
)
from snapcli.judging.field_stream import field_streams
from snapcli.judging.shifts import PLAIN, Frames, Shift
from snapcli.results.alarm import Tried
from snapcli.score.alarm import BETTING, CUSUM, EWMA
from tests.unit.judging.made_frames import made_frames, made_split

ASKED = Asked(10_000, 1, 128)
DEV, TEST = made_split(seed=0), made_split(seed=1)


def flagging() -> fx.Alarm:
    """On at the first frame with a U of a half or more, off at the next without."""
    edges = np.full(fx.ALARM_BINS - 1, 32768, np.uint32)
    gains = np.zeros(fx.ALARM_BINS, np.int32)
    gains[0], gains[-1] = -10 << 16, 10 << 16
    return replace(
        fx.NO_ALARM, detector=fx.ALARM_SUM, edge_q16=edges, gain_q16=gains, threshold_q16=5 << 16
    )


def of_value(u_q16: int, count: int = 50, right: bool = True) -> Frames:
    shown = made_frames(0.5, count)
    scores = replace(shown.scores, uncertainty_q16=np.full(count, u_q16, np.uint32))
    return Frames(scores, shown.plain_q16, np.full(count, right))


def test_a_delay_counts_from_the_first_frame_of_the_shift() -> None:
    quiet = replace(DEV, clean=of_value(100))
    shifts = [Shift(f"to {u}", 1, of_value(u), 0.2, False) for u in (40_000, 200)]
    at_once, never = delays(flagging(), quiet, shifts, "U")
    assert np.all(at_once == 1)
    assert np.all(np.isnan(never))
    assert delays(flagging(), quiet, [], "U").shape[0] == 0


def test_shifts_are_grouped_by_what_they_cost() -> None:
    groups, rows = found(flagging(), TEST, "U")
    assert {g.name: g.shifts for g in groups} == {
        "harmful": 6,
        "slight": 3,
        "harmless": 3,
        "foreign": 1,
    }
    assert len(rows) == 13
    by_name = {g.name: g for g in groups}
    assert by_name["foreign"].median <= by_name["harmful"].median <= by_name["harmless"].median


def test_a_group_without_shifts_has_no_figures() -> None:
    groups, _ = found(flagging(), made_split(drops=(0.4,)), "U")
    harmless = next(g for g in groups if g.name == "harmless")
    assert harmless.shifts == 0
    assert np.isnan([harmless.found, harmless.median, harmless.slow]).all()


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_fitted_alarm_finds_what_harms_and_is_silent_otherwise(detector: str) -> None:
    fitted = ASKED.fit(detector, DEV.scores("U"))
    groups, _ = found(fitted.device, TEST, "U")
    by_name = {g.name: g for g in groups}
    assert by_name["harmful"].found >= 0.95
    assert by_name["harmful"].median <= 40
    assert by_name["harmless"].found < 0.7
    count, frames, on = clean_alarms(fitted.device, TEST, "U")
    assert count <= 3 * frames / 10_000
    assert on < 0.02


def test_false_alarms_are_counted_behind_the_baseline_alone() -> None:
    device = replace(flagging(), baseline=100, limit_q16=16 << 16)
    noisy = replace(DEV, clean=of_value(40_000))
    count, frames, on = clean_alarms(device, noisy, "U")
    # Frames that are all alike earn what they always did: no alarm.
    assert (count, frames, on) == (0, 500_000, 0.0)
    assert clean_alarms(replace(device, baseline=0), noisy, "U")[0] == 200


def tried(
    detector: str, found: float, median: float, harmless: float, auprc: float, borne: bool = True
) -> Tried:
    return Tried(detector, borne, found, median, 2 * median, harmless, auprc)


def test_auto_leaves_a_promise_that_the_data_do_not_bear() -> None:
    empty = tried(EWMA, 1.0, 5, 0.0, 0.99, borne=False)
    borne = tried(CUSUM, 1.0, 9, 0.1, 0.90)
    assert first_of((empty, borne)) is borne
    assert first_of((empty, tried(CUSUM, 0.5, 90, 0.9, 0.2))).detector == CUSUM
    assert first_of((empty,)) is empty


def test_an_alarm_that_is_on_before_a_shift_has_not_found_it() -> None:
    always = replace(fx.NO_ALARM, detector=fx.ALARM_SUM, gain_q16=np.full(16, 65536, np.int32))
    assert np.isnan(delays(always, TEST, TEST.harmful, "U")).all()
    assert clean_alarms(always, TEST, "U")[2] == 1.0


def test_auto_takes_the_one_that_tells_events_best_of_those_that_are_soon() -> None:
    slow = tried(BETTING, 1.0, 40, 0.0, 0.99)
    quick, best = tried(CUSUM, 1.0, 5, 0.2, 0.8), tried(EWMA, 0.96, 20, 0.4, 0.9)
    assert first_of([slow, quick, best]) is best
    assert first_of([slow, quick, replace(best, harmless=0.6)]) is quick
    assert first_of([slow, quick, replace(best, found=0.9)]) is quick
    # None is good: the quickest that does not sound at most of what is harmless.
    noisy = tried(CUSUM, 1.0, 5, 0.9, 0.8)
    assert first_of([slow, noisy]) is slow


@pytest.mark.slow
def test_auto_tries_every_detector_on_types_that_it_has_not_seen() -> None:
    rows = try_detectors(DEV, "U", ASKED)
    assert [t.detector for t in rows] == list(DETECTORS)
    for row in rows:
        assert 0 <= row.found <= 1
        assert row.auprc > 0.5
        assert 1 <= row.median <= WATCHED


@pytest.mark.slow
def test_long_streams_tell_events_false_alarms_and_recovery() -> None:
    fitted, plain = (ASKED.fit(EWMA, DEV.scores(s)).device for s in ("U", PLAIN))
    streams = field_streams(TEST, ASKED.baseline, seed=0)
    result = judge_streams(fitted, plain, streams, TEST, "U")
    assert result.events >= 10
    assert result.clean_frames >= 50_000
    assert result.found >= 0.95 * result.harmful > 0
    assert result.auprc.low <= result.auprc.value <= result.auprc.high
    assert result.share < result.single < result.auprc.value
    assert result.ahead.value == pytest.approx(result.auprc.value - result.plain)
    assert result.false_alarms <= 3
    assert 0 < result.clears < 400
    assert result.late < 0.02


def test_recovery_is_counted_from_where_clean_frames_come_back() -> None:
    """An alarm that ends with the first frame that is not flagged."""
    quiet = replace(DEV, clean=of_value(100))
    loud = tuple(replace(s, frames=of_value(40_000, right=False)) for s in DEV.shifts)
    frames = replace(quiet, shifts=loud, foreign=())
    streams = field_streams(frames, 0, seed=0)
    result = judge_streams(flagging(), flagging(), streams, frames, "U")
    # The sum stands at its cap of 10 nats, and a quiet frame takes 10.
    assert result.clears == 0
    assert result.late == 0
    slow = replace(flagging(), clear_q16=-100 << 16)
    assert judge_streams(slow, slow, streams, frames, "U").late == 1


@pytest.mark.slow
def test_scenes_break_an_alarm_that_does_not_expect_them() -> None:
    asked = replace(ASKED, baseline=1_024)
    fitted, plain = (asked.fit(EWMA, DEV.scores(s)) for s in ("U", PLAIN))
    result = judge_scenes(fitted, plain.device, asked, {"dev": DEV, "test": TEST}, "U")
    assert 5 <= result.block <= 9
    assert result.with_block is not None
    assert result.with_block.false_alarms <= result.without.false_alarms
    assert result.without.false_alarms > 3


def test_a_promise_that_the_data_cannot_bear_out_is_told() -> None:
    fitted = ASKED.fit(CUSUM, DEV.scores("U"))
    assert fault_of(fitted, 10_000, 600) is None
    for faulty in (
        replace(fitted, growth=-0.1),
        replace(fitted, blind=0.1),
        replace(fitted, expected=500.0),
    ):
        told = fault_of(faulty, 10_000, 600)
        assert told is not None
        assert told.startswith("Not enough data for this promise: ")
    # Betting needs no number of examples.
    sure = ASKED.fit(BETTING, DEV.scores("U"))
    assert fault_of(sure, 1e9, 600) is None


def test_estimated_accuracy_is_the_mean_of_1_less_u() -> None:
    dev, test = (field_streams(s, 0, seed=0) for s in (DEV, TEST))
    estimate = accuracy_estimate(dev, test, TEST)
    assert 0 < estimate.dev < 0.1
    assert estimate.conditions == len(TEST.shifts) + 1
    sure = replace(TEST, clean=of_value(0, right=False))
    off = accuracy_estimate(dev, test, sure).off
    assert (off[0].name, off[0].estimated, off[0].true) == ("clean", 1.0, 0.0)
    assert all(abs(o.estimated - o.true) > OFF_LIMIT for o in off)


def test_max_probability_is_watched_by_the_same_detector() -> None:
    device = ASKED.fit(EWMA, DEV.scores(PLAIN)).device
    _, rows = found(device, TEST, PLAIN)
    assert alarms.HARMFUL == 0.1
    assert any(row.found > 0.9 for row in rows)
