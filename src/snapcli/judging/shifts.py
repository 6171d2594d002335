"""What the device would answer to every condition, sorted by what the condition costs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.array import Bools
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.streams import foreign_rows
from snapcli.judging.raw_scores import SCORES_FILE, load_scores
from snapcli.monitor.alarm import FieldAlarm
from snapcli.monitor.decision import map_inputs, quantize_gated, uncertainty_q16
from snapcli.monitor.monitor import DeviceScores, load_body
from snapcli.origin.origin import origin_of
from snapcli.progress import OnProgress, silent
from snapcli.results.calibrate import calibrate_record
from snapcli.runs import Run
from snapcli.score.alarm import ShiftScores
from snapcli.score.maps import temperature

HARMFUL, HARMLESS = 0.10, 0.03
# Where no shift costs as much as HARMFUL, so many of those that cost most stand in.
_SOME = 4
# What an alarm may watch for comparison alone; no device computes it beside U.
PLAIN = "max-probability"
_PLAIN_MAP = quantize_gated(temperature())


@dataclass(frozen=True, eq=False)
class Frames:
    """Examples of a condition: the device's scores, U of the map without heads, right [n]."""

    scores: DeviceScores
    plain_q16: NDArray[np.uint32]
    right: Bools

    def __len__(self) -> int:
        return len(self.right)

    def values(self, signal: str) -> NDArray[np.uint32]:
        """What an alarm on this signal is given, [n]."""
        if signal == PLAIN:
            return self.plain_q16
        s = self.scores
        alarm = FieldAlarm(signal, fx.NO_ALARM)
        return alarm.values(s.uncertainty_q16, s.foreign_q16, s.score_q16, s.abstain)

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())


@dataclass(frozen=True, eq=False)
class Shift:
    """drop: accuracy that it costs, a share. A foreign set has no right answer."""

    name: str
    severity: int
    frames: Frames
    drop: float
    is_foreign: bool

    @property
    def said(self) -> str:
        return f"{self.name} {self.severity}" if self.severity else self.name


@dataclass(frozen=True, eq=False)
class SplitFrames:
    """Of dev or of test examples."""

    clean: Frames
    shifts: tuple[Shift, ...]
    foreign: tuple[Shift, ...]

    @property
    def harmful(self) -> tuple[Shift, ...]:
        """At least a few, whatever they cost."""
        found = [s for s in self.shifts if s.drop >= HARMFUL]
        by_cost = sorted(self.shifts, key=lambda s: -s.drop)
        return tuple(found or by_cost[: max(1, len(by_cost) // _SOME)])

    @property
    def harmless(self) -> tuple[Shift, ...]:
        return tuple(s for s in self.shifts if s.drop < HARMLESS)

    def of_types(self, names: set[str]) -> "SplitFrames":
        return SplitFrames(
            self.clean, tuple(s for s in self.shifts if s.name in names), self.foreign
        )

    def scores(self, signal: str) -> ShiftScores:
        harmful = self.harmful
        return ShiftScores(
            self.clean.values(signal),
            [s.frames.values(signal) for s in harmful],
            [s.frames.values(signal) for s in self.harmless if s not in harmful],
        )


def split_frames(run: Run, on_progress: OnProgress = silent) -> dict[str, SplitFrames]:
    """dev and test, of the run's deployed monitor, from what quantize or attach kept."""
    origin = origin_of(run)
    deployed = origin.deployed()
    limit = origin.limit(calibrate_record(run.inputs("calibrate")).options)
    evaluation = Evaluation(origin.dataset(on_progress), limit)
    stage = deployed.stages[0]
    hint = f"Run: {run.remedy(stage)}"
    body, monitor = load_body(deployed.folder, hint), deployed.monitor
    raw = load_scores(deployed.folder / SCORES_FILE, body, evaluation, hint)
    scored = {}
    for key, scores in raw.items():
        kept = scores if monitor.body.taps else scores.without_taps()
        labels = evaluation.labels(key)
        right = np.zeros(len(kept.logits), bool) if labels is None else kept.predicted == labels
        plain = uncertainty_q16(_PLAIN_MAP, map_inputs(monitor.features(kept)))
        scored[key] = Frames(monitor.decide(kept), plain, right)
    return {split: _of_split(split, scored, evaluation) for split in ("dev", "test")}


def _of_split(split: str, scored: Mapping[Key, Frames], evaluation: Evaluation) -> SplitFrames:
    clean = scored[Key(split, "clean")]
    shifts = tuple(
        Shift(key.condition, key.severity, frames, clean.accuracy - frames.accuracy, False)
        for key, frames in scored.items()
        if key.split == split and key.condition != "clean"
    )
    foreign = []
    for key, frames in scored.items():
        if key.split == "ood":
            rows = foreign_rows(evaluation.dataset, key.condition, split)
            here = np.isin(evaluation.rows(key), rows)
            if here.any():
                part = taken(frames, np.flatnonzero(here))
                foreign.append(Shift(key.condition, 0, part, clean.accuracy, True))
    return SplitFrames(clean, shifts, tuple(foreign))


def taken(frames: Frames, rows: NDArray[np.intp]) -> Frames:
    kept = {name: values[rows] for name, values in vars(frames.scores).items()}
    return Frames(DeviceScores(**kept), frames.plain_q16[rows], frames.right[rows])
