"""How soon an alarm finds shifts, how often it cries wolf, and which detector does best on dev."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.array import Array, Bools
from snapcli.config import DETECTORS
from snapcli.judging.field_stream import FieldStreams
from snapcli.judging.shifts import HARMFUL, HARMLESS, PLAIN, Shift, SplitFrames
from snapcli.metrics import event_scores
from snapcli.metrics.bootstrap import draw_blocks, interval, measured
from snapcli.metrics.events import Event, event_frames, find_events, normal_band
from snapcli.results.alarm import (
    AccuracyEstimate,
    Group,
    OffAccuracy,
    ShiftFound,
    StreamFound,
    Tried,
)
from snapcli.score.alarm import FittedAlarm, ShiftScores, fit_alarm
from snapcli.score.turns import turns

# A shift has to be found within so many frames.
WATCHED = 400
# Estimates of accuracy that are further off are told.
OFF_LIMIT = 0.05
_TRIES = 60
_BEFORE = 128  # clean frames between the baseline and a shift
_STREAMS, _STREAM_FRAMES = 200, 2_500
_NORMAL_FRAMES = 5_000
_RECENT = 256
_REPLICATES, _BLOCK = 200, 400
_MANY = 0.5  # of harmless shifts


@dataclass(frozen=True, eq=False)
class Asked:
    """frames between false alarms; block and baseline as fit_alarm has them."""

    frames: float
    block: int
    baseline: int

    def fit(self, detector: str, scores: ShiftScores) -> FittedAlarm:
        return fit_alarm(detector, scores, self.frames, self.block, self.baseline)


# ---- Which detector ---------------------------------------------------------------------


def try_detectors(dev: SplitFrames, signal: str, asked: Asked) -> tuple[Tried, ...]:
    """Each fitted on half of the corruption types, and tried on the other half."""
    return tuple(_tried(detector, dev, signal, asked) for detector in DETECTORS)


def first_of(tried: Sequence[Tried]) -> Tried:
    """With the shortest mean delay, a miss counting as all frames watched; those that sound at
    most of the harmless shifts come last."""
    return min(tried, key=lambda t: (t.harmless >= _MANY, t.delay))


def _tried(detector: str, dev: SplitFrames, signal: str, asked: Asked) -> Tried:
    names = list(dict.fromkeys(shift.name for shift in dev.shifts))
    harmful: list[Array] = []
    harmless: list[Array] = []
    for turn in turns(names, names):
        fitted_on = dev.of_types(set(turn.fitted or names))
        judged = dev.of_types(set(turn.judged))
        fitted = asked.fit(detector, fitted_on.scores(signal))
        if fitted.growth <= 0:
            harmful.append(np.full((len(judged.harmful), _TRIES), np.nan))
            continue
        harmful.append(delays(fitted.device, judged, judged.harmful, signal))
        harmless.append(delays(fitted.device, judged, judged.harmless, signal))
    of_harmful = np.concatenate(harmful).ravel()
    of_harmless = np.concatenate([*harmless, np.empty((0, _TRIES))]).ravel()
    return Tried(
        detector,
        found=_share_found(of_harmful),
        delay=float(np.mean(_counted(of_harmful))),
        harmless=_share_found(of_harmless) if len(of_harmless) else 0.0,
    )


# ---- Shifts and clean frames --------------------------------------------------------------


def delays(alarm: fx.Alarm, frames: SplitFrames, shifts: Sequence[Shift], signal: str) -> Array:
    """[shifts, tries]: frames until the alarm is on, nan where it is not within WATCHED frames. A
    device takes its baseline, sees some more clean frames, and then the shift."""
    rng = np.random.default_rng(0)
    clean = frames.clean.values(signal)
    before = rng.choice(clean, (len(shifts) * _TRIES, alarm.baseline + _BEFORE))
    shown = [rng.choice(s.frames.values(signal), (_TRIES, WATCHED)) for s in shifts]
    if not shown:
        return np.empty((0, _TRIES))
    values = np.concatenate([before, np.concatenate(shown)], axis=1)
    on = _watched(alarm, values)[:, before.shape[1] :]
    first = np.where(on.any(axis=1), on.argmax(axis=1) + 1.0, np.nan)
    return first.reshape(len(shifts), _TRIES)


def found(
    alarm: fx.Alarm, frames: SplitFrames, signal: str
) -> tuple[tuple[Group, ...], tuple[ShiftFound, ...]]:
    shifts = (*frames.shifts, *frames.foreign)
    every = delays(alarm, frames, shifts, signal)
    rows = tuple(
        ShiftFound(s.name, s.severity, s.is_foreign, s.drop, _share_found(d), *_spread(d))
        for s, d in zip(shifts, every, strict=True)
    )
    belongs: dict[str, Callable[[Shift], bool]] = {
        "harmful": lambda s: not s.is_foreign and s.drop >= HARMFUL,
        "slight": lambda s: not s.is_foreign and HARMLESS <= s.drop < HARMFUL,
        "harmless": lambda s: not s.is_foreign and s.drop < HARMLESS,
        "foreign": lambda s: s.is_foreign,
    }
    groups = []
    for name, test in belongs.items():
        chosen = every[[test(s) for s in shifts]]
        groups.append(Group(name, len(chosen), _share_found(chosen), *_spread(chosen)))
    return tuple(groups), rows


def clean_alarms(alarm: fx.Alarm, frames: SplitFrames, signal: str) -> tuple[int, int]:
    """(alarms, frames) of clean examples drawn independently, behind each stream's baseline."""
    rng = np.random.default_rng(1)
    clean = frames.clean.values(signal)
    values = rng.choice(clean, (_STREAMS, alarm.baseline + _STREAM_FRAMES))
    state = fx.alarm_start(alarm, _STREAMS)
    fx.alarm_run(alarm, state, values, np.zeros_like(values))
    return int(state.alarms.sum()), _STREAMS * _STREAM_FRAMES


def _watched(alarm: fx.Alarm, values: NDArray[np.uint32]) -> Bools:
    on, _ = fx.alarm_run(alarm, fx.alarm_start(alarm, len(values)), values, np.zeros_like(values))
    return on


def _counted(delay: Array) -> Array:
    return np.where(np.isnan(delay), WATCHED, delay)


def _share_found(delay: Array) -> float:
    return float(np.mean(~np.isnan(delay))) if delay.size else float("nan")


def _spread(delay: Array) -> tuple[float, float]:
    """Median and 90 %."""
    if not delay.size:
        return float("nan"), float("nan")
    median, slow = np.quantile(_counted(delay), (0.5, 0.9))
    return float(median), float(slow)


# ---- Long streams ---------------------------------------------------------------------------


def judge_streams(
    alarm: fx.Alarm, plain: fx.Alarm, streams: FieldStreams, frames: SplitFrames, signal: str
) -> StreamFound:
    """plain: the same detector, fitted to max-probability."""
    right, clean = streams.right, streams.clean
    devices, length = right.shape
    band = normal_band(np.random.default_rng(2).choice(frames.clean.right, _NORMAL_FRAMES))
    events = [
        Event(device * length + event.onset, device * length + event.offset)
        for device in range(devices)
        for event in find_events(right[device], band)
    ]
    active = event_frames(tuple(events), right.size)
    on, statistic = _played(alarm, streams, signal)
    begins = on & ~np.pad(on, ((0, 0), (1, 0)))[:, :-1]
    false = begins.ravel() & clean.ravel() & ~active
    delay = event_scores.delays(tuple(events), on.ravel())
    accuracy = [right.ravel()[event.onset : event.offset].mean() for event in events]
    harmful = np.array([frames.clean.accuracy - a >= HARMFUL for a in accuracy], bool)
    weights = event_scores.event_weights(tuple(events), right.size)
    drawn = draw_blocks(right.size, _BLOCK, _REPLICATES, seed=0)

    def auprc(score: NDArray[np.number]) -> tuple[float, Array]:
        return measured(
            lambda rows: event_scores.frame_auprc(active, score.ravel(), rows * weights), drawn
        )

    def single(watched: str) -> float:
        score = streams.values(watched)[:, streams.before :].ravel()
        return float(event_scores.frame_auprc(active, score, weights[None])[0])

    ours, theirs = auprc(statistic), auprc(_played(plain, streams, PLAIN)[1])
    hits = delay[harmful & ~np.isnan(delay)]
    return StreamFound(
        frames=right.size,
        clean_frames=int(clean.sum()),
        events=len(events),
        harmful=int(harmful.sum()),
        found=len(hits),
        delay=float(np.median(hits)) if len(hits) else float("nan"),
        false_alarms=float(1e4 * false.sum() / max(clean.sum(), 1)),
        auprc=interval(*ours),
        single=single(signal),
        plain=theirs[0],
        plain_single=single(PLAIN),
        ahead=interval(ours[0] - theirs[0], ours[1] - theirs[1]),
    )


def _played(alarm: fx.Alarm, streams: FieldStreams, signal: str) -> tuple[Bools, NDArray[np.int64]]:
    values = streams.values(signal)
    state = fx.alarm_start(alarm, len(values))
    on, statistic = fx.alarm_run(alarm, state, values, np.zeros_like(values))
    return on[:, streams.before :], statistic[:, streams.before :]


# ---- Estimated accuracy ---------------------------------------------------------------------


def accuracy_estimate(
    dev: FieldStreams, test: FieldStreams, frames: SplitFrames
) -> AccuracyEstimate:
    every = [("clean", 0, frames.clean), *((s.name, s.severity, s.frames) for s in frames.shifts)]
    off = []
    for name, severity, shown in every:
        estimated = float(1 - shown.scores.uncertainty_q16.mean() / 65536)
        if abs(estimated - shown.accuracy) > OFF_LIMIT:
            off.append(OffAccuracy(name, severity, estimated, shown.accuracy))
    off.sort(key=lambda o: -abs(o.estimated - o.true))
    return AccuracyEstimate(_error(dev), _error(test), tuple(off), len(every))


def _error(streams: FieldStreams) -> float:
    """Mean distance of the running mean of 1 - U from the accuracy over the same frames."""
    right = np.cumsum(streams.right, axis=1)
    u = np.cumsum(streams.uncertainty_q16 / 65536, axis=1)
    true = (right[:, _RECENT:] - right[:, :-_RECENT]) / _RECENT
    estimated = 1 - (u[:, _RECENT:] - u[:, :-_RECENT]) / _RECENT
    return float(np.mean(np.abs(true - estimated)))
