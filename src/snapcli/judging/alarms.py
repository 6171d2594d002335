"""How soon an alarm finds shifts, how often it cries wolf, and which detector does best on dev."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.array import Array, Bools
from snapcli.config import DETECTORS
from snapcli.judging.field_stream import (
    EPISODE_FRAMES,
    FieldStreams,
    clean_scenes,
    field_streams,
    paper_streams,
)
from snapcli.judging.shifts import HARMFUL, HARMLESS, PLAIN, Shift, SplitFrames
from snapcli.metrics import event_scores
from snapcli.metrics.bootstrap import draw_blocks, interval, measured
from snapcli.metrics.events import Event, event_frames, find_events, normal_band
from snapcli.results.alarm import (
    AccuracyEstimate,
    Group,
    OffAccuracy,
    Scenes,
    ShiftFound,
    StreamFound,
    Tried,
)
from snapcli.score.alarm import BETTING, BLOCK_MOST, FittedAlarm, ShiftScores, block_of, fit_alarm
from snapcli.score.turns import turns

# What auto asks of a detector: so many harmful shifts found, half of them within so many frames.
_ENOUGH_FOUND, _SOON = 0.95, 25
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
_SCENE, _SCENE_FRAMES = 4, 20_000
# Of the frames asked for: with fewer between false alarms that the data make sure of, they cannot
# bear the promise out. Of clean baselines: more after which the alarm sounds at once are too many.
_BORNE_OUT, _BLIND = 0.1, 0.02


@dataclass(frozen=True, eq=False)
class Asked:
    """frames between false alarms; block and baseline as fit_alarm has them."""

    frames: float
    block: int
    baseline: int

    def fit(self, detector: str, scores: ShiftScores) -> FittedAlarm:
        return fit_alarm(detector, scores, self.frames, self.block, self.baseline)


def fault_of(fitted: FittedAlarm, asked: float, examples: int) -> str | None:
    """What a promise of so many frames lacks, by so many clean dev examples. Betting needs no
    number of them: its bound is made of what they leave open."""
    if fitted.growth <= 0:
        return (
            f"Not enough data for this promise: with {examples:,} clean dev examples the detector "
            f"{fitted.detector} would not sound in harmful shifts either."
        )
    if fitted.blind > _BLIND:
        return (
            "Not enough data for this promise: behind "
            f"{100 * fitted.blind:.0f} % of clean baselines of {fitted.device.baseline:,} frames "
            "the alarm would sound at once."
        )
    if fitted.detector == BETTING or fitted.at_least >= _BORNE_OUT * asked:
        return None
    return (
        f"Not enough data for this promise: {examples:,} clean dev examples make sure of "
        f"{fitted.at_least:,.0f} frames between false alarms, and {asked:,.0f} were asked for. "
        "The detector betting keeps its bound with few examples."
    )


# ---- Which detector ---------------------------------------------------------------------


def try_detectors(dev: SplitFrames, signal: str, asked: Asked) -> tuple[Tried, ...]:
    """Each fitted on half of the corruption types, and tried on the other half."""
    streams = paper_streams(dev, asked.baseline, seed=1)
    labelled = label_events(streams, dev)
    return tuple(_tried(detector, dev, signal, asked, streams, labelled) for detector in DETECTORS)


def first_of(tried: Sequence[Tried]) -> Tried:
    """Of those whose promise the data bear, that find harmful shifts, soon, and not most of the
    harmless ones: the one that tells events best. If there is none: the one with the shortest mean
    delay, of these first whose promise is borne."""
    good = [
        t
        for t in tried
        if t.borne and t.found >= _ENOUGH_FOUND and t.median <= _SOON and t.harmless < _MANY
    ]
    if good:
        return max(good, key=lambda t: t.auprc)
    return min(tried, key=lambda t: (not t.borne, t.harmless >= _MANY, t.delay))


def _tried(
    detector: str,
    dev: SplitFrames,
    signal: str,
    asked: Asked,
    streams: FieldStreams,
    labelled: "Labelled",
) -> Tried:
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
    whole = asked.fit(detector, dev.scores(signal))
    _, statistic = _played(whole.device, streams, signal)
    return Tried(
        detector,
        borne=fault_of(whole, asked.frames, len(dev.clean)) is None,
        found=_share_found(of_harmful),
        median=float(np.median(_counted(of_harmful))),
        delay=float(np.mean(_counted(of_harmful))),
        harmless=_share_found(of_harmless) if len(of_harmless) else 0.0,
        auprc=labelled.auprc(statistic),
    )


# ---- Shifts and clean frames --------------------------------------------------------------


def delays(alarm: fx.Alarm, frames: SplitFrames, shifts: Sequence[Shift], signal: str) -> Array:
    """[shifts, tries]: frames until the alarm is on, nan where it is not within WATCHED frames, or
    was on before. A device takes its baseline, sees some more clean frames, and then the shift."""
    rng = np.random.default_rng(0)
    clean = frames.clean.values(signal)
    before = rng.choice(clean, (len(shifts) * _TRIES, alarm.baseline + _BEFORE))
    shown = [rng.choice(s.frames.values(signal), (_TRIES, WATCHED)) for s in shifts]
    if not shown:
        return np.empty((0, _TRIES))
    values = np.concatenate([before, np.concatenate(shown)], axis=1)
    on = _watched(alarm, values)
    was_on, on = on[:, before.shape[1] - 1], on[:, before.shape[1] :]
    first = np.where(on.any(axis=1) & ~was_on, on.argmax(axis=1) + 1.0, np.nan)
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


def clean_alarms(alarm: fx.Alarm, frames: SplitFrames, signal: str) -> tuple[int, int, float]:
    """(alarms, frames, share of these with the alarm on) of clean examples drawn independently,
    behind each stream's baseline."""
    rng = np.random.default_rng(1)
    clean = frames.clean.values(signal)
    values = rng.choice(clean, (_STREAMS, alarm.baseline + _STREAM_FRAMES))
    state = fx.alarm_start(alarm, _STREAMS)
    on, _ = fx.alarm_run(alarm, state, values, np.zeros_like(values))
    share = float(on[:, alarm.baseline :].mean())
    return int(state.alarms.sum()), _STREAMS * _STREAM_FRAMES, share


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


@dataclass(frozen=True, eq=False)
class Labelled:
    """Events of all devices one after the other, and which frames lie in one, [frames]. lower: what
    accuracy falls below in an event."""

    events: tuple[Event, ...]
    active: Bools
    lower: float

    def auprc(self, score: NDArray[np.number]) -> float:
        """score [devices, frames]; every frame counts the same."""
        ones = np.ones((1, score.size))
        return float(event_scores.frame_auprc(self.active, score.ravel(), ones)[0])


def label_events(streams: FieldStreams, frames: SplitFrames) -> Labelled:
    right = streams.right
    length = right.shape[1]
    band = normal_band(np.random.default_rng(2).choice(frames.clean.right, _NORMAL_FRAMES))
    events = tuple(
        Event(device * length + event.onset, device * length + event.offset)
        for device, of_device in enumerate(right)
        for event in find_events(of_device, band)
    )
    return Labelled(events, event_frames(events, right.size), band.lower)


def judge_streams(
    alarm: fx.Alarm, plain: fx.Alarm, streams: FieldStreams, frames: SplitFrames, signal: str
) -> StreamFound:
    """plain: the same detector, fitted to max-probability."""
    right, clean = streams.right.ravel(), streams.clean
    labelled = label_events(streams, frames)
    events, active = labelled.events, labelled.active
    on, statistic = _played(alarm, streams, signal)
    begins = on & ~np.pad(on, ((0, 0), (1, 0)))[:, :-1]
    false = begins.ravel() & clean.ravel() & ~active
    delay = event_scores.delays(events, on.ravel())
    accuracy = [right[event.onset : event.offset].mean() for event in events]
    harmful = np.array([frames.clean.accuracy - a >= HARMFUL for a in accuracy], bool)
    drawn = draw_blocks(right.size, _BLOCK, _REPLICATES, seed=0)

    def auprc(score: NDArray[np.number]) -> tuple[float, Array]:
        return measured(lambda rows: event_scores.frame_auprc(active, score.ravel(), rows), drawn)

    def single(watched: str) -> float:
        return labelled.auprc(streams.values(watched)[:, streams.before :])

    ours, theirs = auprc(statistic), auprc(_played(plain, streams, PLAIN)[1])
    hits = delay[harmful & ~np.isnan(delay)]
    clears, late = _recovery(on, streams)
    return StreamFound(
        frames=right.size,
        clean_frames=int(clean.sum()),
        events=len(events),
        share=float(active.mean()),
        harmful=int(harmful.sum()),
        found=len(hits),
        delay=float(np.median(hits)) if len(hits) else float("nan"),
        false_alarms=float(1e4 * false.sum() / max(clean.sum(), 1)),
        auprc=interval(*ours),
        single=single(signal),
        plain=theirs[0],
        plain_single=single(PLAIN),
        ahead=interval(ours[0] - theirs[0], ours[1] - theirs[1]),
        clears=clears,
        late=late,
    )


def _recovery(on: Bools, streams: FieldStreams) -> tuple[float, float]:
    """Median frames until an alarm that is on at the end of an episode ends; share of the clean
    frames with the alarm on, from EPISODE_FRAMES after an episode."""
    clean = streams.clean
    took, late = [], []
    for device, end in streams.episode_ends:
        again = np.flatnonzero(~clean[device, end:])
        shown = on[device, end : end + again[0] if len(again) else None]
        late.append(shown[EPISODE_FRAMES:])
        if on[device, end - 1]:
            took.append(len(shown) if shown.all() else int(np.argmin(shown)))
    after = np.concatenate([*late, np.empty(0, bool)])
    return (
        float(np.median(took)) if took else float("nan"),
        float(after.mean()) if len(after) else float("nan"),
    )


def _played(alarm: fx.Alarm, streams: FieldStreams, signal: str) -> tuple[Bools, NDArray[np.int64]]:
    values = streams.values(signal)
    state = fx.alarm_start(alarm, len(values))
    on, statistic = fx.alarm_run(alarm, state, values, np.zeros_like(values))
    return on[:, streams.before :], statistic[:, streams.before :]


# ---- Frames that depend on each other -----------------------------------------------------------


def judge_scenes(
    fitted: FittedAlarm, plain: fx.Alarm, asked: Asked, splits: dict[str, SplitFrames], signal: str
) -> Scenes:
    """fitted, plain: as they are, for frames as asked knows them."""
    dev, test = splits["dev"], splits["test"]
    seen = clean_scenes(dev, _SCENE_FRAMES, _SCENE, seed=0).values(signal)
    block = block_of(seen, dev.clean.values(signal))
    streams = field_streams(test, asked.baseline, seed=0, scene=_SCENE)
    without = judge_streams(fitted.device, plain, streams, test, signal)
    anew = replace(asked, block=min(block, BLOCK_MOST))
    slow = anew.fit(fitted.detector, dev.scores(signal))
    why = fault_of(slow, asked.frames, len(dev.clean))
    with_block = None
    if slow.growth > 0:
        other = anew.fit(fitted.detector, dev.scores(PLAIN)).device
        with_block = judge_streams(slow.device, other, streams, test, signal)
    return Scenes(_SCENE, block, without, with_block, why)


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
    """Mean distance of what a device says from the accuracy over the last _RECENT frames."""
    right = np.cumsum(streams.right, axis=1)
    true = (right[:, _RECENT:] - right[:, :-_RECENT]) / _RECENT
    u = streams.uncertainty_q16
    state, said = fx.alarm_start(fx.NO_ALARM, len(u)), np.empty(u.shape)
    for t in range(u.shape[1]):
        fx.alarm_step(fx.NO_ALARM, state, u[:, t], u[:, t])
        said[:, t] = state.right_q24 / 2**24
    return float(np.mean(np.abs(true - said[:, _RECENT:])))
