"""The alarm (SPEC 1.9) <-> snapuq_alarm.c: many streams side by side, frame after frame."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.fixedpoint.exp import exp_q16
from snapcli.fixedpoint.ln import LN2_Q16, ln_q16
from snapcli.fixedpoint.square_root import square_root

ALARM_NONE, ALARM_SUM, ALARM_MEAN, ALARM_WINDOW = range(4)
ALARM_BINS, ALARM_WINDOW_FRAMES, ALARM_MEAN_BITS = 16, 64, 6
NO_EDGE = 2**32 - 1
_RECENT_BITS = 7
_STATISTIC_LIMIT_Q16, _OFFSET_LIMIT_Q16 = 1 << 29, 64 << 16
_UINT32_MAX, _UINT16_MAX = 2**32 - 1, 2**16 - 1


@dataclass(frozen=True, eq=False)
class Alarm:
    """edge_q16 uint32 [15], ascending; gain_q16 int32 [16], not descending, within 16 nats; the
    rest as in struct snapuq_alarm."""

    detector: int
    edge_q16: NDArray[np.uint32]
    gain_q16: NDArray[np.int32]
    threshold_q16: int
    clear_q16: int
    start_q16: int
    offset_q16: int
    limit_q16: int
    baseline: int
    confidence_q16: int


NO_ALARM = Alarm(
    detector=ALARM_NONE,
    edge_q16=np.full(ALARM_BINS - 1, NO_EDGE, np.uint32),
    gain_q16=np.zeros(ALARM_BINS, np.int32),
    threshold_q16=1,
    clear_q16=0,
    start_q16=0,
    offset_q16=0,
    limit_q16=0,
    baseline=0,
    confidence_q16=0,
)


@dataclass(eq=False)
class AlarmState:
    """Of n streams, each [n] in the ranges of struct snapuq_alarm_state; window [n, 64]: bins."""

    statistic_q16: NDArray[np.int64]
    offset_q16: NDArray[np.int64]
    frames: NDArray[np.int64]
    right_q24: NDArray[np.int64]
    baseline_sum_q16: NDArray[np.int64]
    baseline_left: NDArray[np.int64]
    alarms: NDArray[np.int64]
    on: Bools
    place: NDArray[np.int64]
    window: NDArray[np.int64]


def alarm_start(alarm: Alarm, streams: int = 1) -> AlarmState:
    def filled(value: int, *shape: int) -> NDArray[np.int64]:
        return np.full((streams, *shape), value, np.int64)

    return AlarmState(
        statistic_q16=filled(alarm.start_q16),
        offset_q16=filled(alarm.offset_q16),
        frames=filled(0),
        right_q24=filled(0),
        baseline_sum_q16=filled(0),
        baseline_left=filled(alarm.baseline),
        alarms=filled(0),
        on=np.zeros(streams, bool),
        place=filled(0),
        window=filled(0, ALARM_WINDOW_FRAMES),
    )


def alarm_resume(alarm: Alarm, kept: AlarmState) -> AlarmState:
    """Goes on with streams whose state was kept, limited to what a stream could have left."""

    def within(values: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
        return np.clip(values, -limit, limit)

    return replace(
        kept,
        statistic_q16=within(kept.statistic_q16, _STATISTIC_LIMIT_Q16),
        offset_q16=within(kept.offset_q16, _OFFSET_LIMIT_Q16),
        right_q24=within(kept.right_q24, 1 << 24),
        baseline_left=within(kept.baseline_left, alarm.baseline),
        place=kept.place % (2 * ALARM_WINDOW_FRAMES),
        window=kept.window.copy(),
    )


def alarm_clear(alarm: Alarm, state: AlarmState) -> None:
    state.statistic_q16[:] = alarm.start_q16
    state.on[:] = False
    state.place[:] = 0


def alarm_baseline(alarm: Alarm, state: AlarmState) -> None:
    alarm_clear(alarm, state)
    state.baseline_sum_q16[:] = 0
    state.baseline_left[:] = alarm.baseline


def alarm_bins(alarm: Alarm, value_q16: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Of any shape, in [0, 16)."""
    return np.searchsorted(alarm.edge_q16, value_q16, side="right").astype(np.int64)


def alarm_step(
    alarm: Alarm,
    state: AlarmState,
    value_q16: NDArray[np.uint32],
    uncertainty_q16: NDArray[np.uint32],
) -> Bools:
    """Moves the state on by a frame of each stream, both [n]; whether their alarms are on, [n]."""
    state.frames = np.minimum(state.frames + 1, _UINT32_MAX)
    _remember(state, uncertainty_q16.astype(np.int64))
    if alarm.detector == ALARM_NONE:
        return np.zeros_like(state.on)
    bins = alarm_bins(alarm, value_q16)
    waiting = state.baseline_left > 0
    if not waiting.all():
        _advance(alarm, state, bins, ~waiting)
        _decide(alarm, state, ~waiting)
    if waiting.any():
        _learn(alarm, state, bins, waiting)
    return state.on.copy()


def alarm_run(
    alarm: Alarm,
    state: AlarmState,
    value_q16: NDArray[np.uint32],
    uncertainty_q16: NDArray[np.uint32],
) -> tuple[Bools, NDArray[np.int64]]:
    """Streams [n, frames] -> whether the alarm is on, and the statistic, both [n, frames]."""
    on = np.empty(value_q16.shape, bool)
    statistic = np.empty(value_q16.shape, np.int64)
    for t in range(value_q16.shape[1]):
        on[:, t] = alarm_step(alarm, state, value_q16[:, t], uncertainty_q16[:, t])
        statistic[:, t] = state.statistic_q16
    return on, statistic


def _remember(state: AlarmState, uncertainty_q16: NDArray[np.int64]) -> None:
    off = ((65536 - uncertainty_q16) << 8) - state.right_q24
    early = state.frames < 1 << _RECENT_BITS
    whole = np.sign(off) * (np.abs(off) // np.maximum(state.frames, 1))
    state.right_q24 = state.right_q24 + np.where(early, whole, off >> _RECENT_BITS)


def _advance(alarm: Alarm, state: AlarmState, bins: NDArray[np.int64], moving: Bools) -> None:
    gain = alarm.gain_q16.astype(np.int64)
    evidence = gain[bins] - state.offset_q16
    statistic = state.statistic_q16
    if alarm.detector == ALARM_SUM:
        statistic = np.minimum(np.maximum(statistic, 0) + evidence, 2 * alarm.threshold_q16)
    elif alarm.detector == ALARM_MEAN:
        statistic = statistic + evidence - (statistic >> ALARM_MEAN_BITS)
    else:
        rows, at = np.arange(len(bins)), state.place % ALARM_WINDOW_FRAMES
        was_full = state.place >= ALARM_WINDOW_FRAMES
        leaving = gain[state.window[rows, at]] - state.offset_q16
        statistic = statistic + evidence - np.where(was_full, leaving, 0)
        state.window[rows[moving], at[moving]] = bins[moving]
        full = was_full | (at + 1 == ALARM_WINDOW_FRAMES)
        place = (at + 1) % ALARM_WINDOW_FRAMES + full * ALARM_WINDOW_FRAMES
        state.place = np.where(moving, place, state.place)
    state.statistic_q16 = np.where(moving, statistic, state.statistic_q16)


def _decide(alarm: Alarm, state: AlarmState, moving: Bools) -> None:
    ready = moving
    if alarm.detector == ALARM_WINDOW:
        ready = moving & (state.place >= ALARM_WINDOW_FRAMES)
    raised = ready & ~state.on & (state.statistic_q16 >= alarm.threshold_q16)
    over = moving & state.on & (state.statistic_q16 <= alarm.clear_q16)
    _sound(state, raised)
    state.on = state.on & ~over


def _learn(alarm: Alarm, state: AlarmState, bins: NDArray[np.int64], waiting: Bools) -> None:
    gain = alarm.gain_q16.astype(np.int64)
    state.baseline_sum_q16 = state.baseline_sum_q16 + waiting * exp_q16(gain[-1] - gain[bins])
    state.baseline_left = state.baseline_left - waiting
    ready = waiting & (state.baseline_left == 0)
    if not ready.any():
        return
    offset = baseline_offset_q16(alarm, state.baseline_sum_q16)
    blind = ready & (offset > alarm.limit_q16)
    offset = np.minimum(offset, alarm.limit_q16)
    state.offset_q16 = np.where(ready, offset, state.offset_q16)
    if alarm.detector != ALARM_WINDOW:  # whose statistic is that of its frames
        state.statistic_q16 = np.where(blind, alarm.threshold_q16, state.statistic_q16)
    _sound(state, blind)


def baseline_offset_q16(alarm: Alarm, sum_q16: NDArray[np.int64]) -> NDArray[np.int64]:
    """ln of the most that a frame earns on average, as sure as the alarm's confidence. sum_q16
    [n]: of exp(gain - largest gain) over the frames of the baseline."""
    sure = alarm.confidence_q16
    most = sum_q16 + sure + square_root(sure * sure + 2 * sum_q16 * sure)
    ln_most = ln_q16(np.minimum(most, _UINT32_MAX))
    return int(alarm.gain_q16[-1]) + ln_most - ln_q16(alarm.baseline) - 16 * LN2_Q16


def _sound(state: AlarmState, raised: Bools) -> None:
    state.on = state.on | raised
    state.alarms = np.minimum(state.alarms + raised, _UINT16_MAX)
