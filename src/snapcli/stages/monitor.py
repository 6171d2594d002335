"""monitor: feeds a device and shows what it answers, frame by frame.

A board of ours has no camera: the host sends what a camera would see. Nothing is checked here; that
is what `bench --stream` is for.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from json import dumps
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from snapcli.data import Dataset
from snapcli.data.streams import STREAM_SEED, build_stream
from snapcli.device import AlarmAction, Client
from snapcli.errors import UsageError
from snapcli.graph.graph import Tensor
from snapcli.measuring.firmware import attached, built_firmware, target_at
from snapcli.monitor.alarm import FieldAlarm
from snapcli.origin.origin import origin_of
from snapcli.runs import Run, disk_errors
from snapcli.stages.collect import Collected, collect

SOURCES = ("stream", "test")


@dataclass(frozen=True)
class MonitorFrame:
    """One frame. time_s: when its answer came, seconds since 1970. condition and severity say
    what was sent, the rest is the device's answer in its own numbers (SPEC 3.2)."""

    frame: int
    time_s: float
    condition: str
    severity: int
    predicted: int
    class_name: str
    abstain: bool
    score_q16: int
    uncertainty_q16: int
    foreign: bool
    foreign_q16: int
    rate_q24: int
    threshold_q24: int
    alarm: bool
    statistic_q16: int
    alarms: int
    baseline_left: int
    right_q24: int
    count: int


@dataclass(frozen=True, eq=False)
class MonitorSession:
    """A device that is being fed. budget: the share that may abstain, None without a controller.
    foreign_threshold_q16: of F. alarm: the one that it carries, None without. frames: how many
    there will be; seen: each of them, when it comes."""

    run: str
    target: str
    part: str
    counter: str
    budget: float | None
    foreign_threshold_q16: int
    alarm: FieldAlarm | None
    frames: int
    seen: Iterator[MonitorFrame]
    client: Client
    fed: "Feed"

    def clear_alarm(self) -> None:
        self.client.alarm(AlarmAction.CLEAR)

    def learn_baseline(self) -> None:
        """From the next frames on."""
        self.client.alarm(AlarmAction.LEARN)

    def collect(self, folder: Path, device: int) -> Collected:
        """What the device had kept; it is in the folder now. device: its number."""
        return collect(self.client, folder, self.fed.tensor, self.fed.class_names, device)


@contextmanager
def watch(
    run: Run,
    target_name: str | None,
    port: str | None = None,
    source: str = "stream",
    limit: int | None = None,
) -> Iterator[MonitorSession]:
    """source: the evaluation stream, or the test examples as they are. limit: at most so many."""
    if source not in SOURCES:
        raise UsageError(f"there is no source '{source}'", f"Known: {', '.join(SOURCES)}.")
    target = target_at(run, target_name, port)
    firmware = built_firmware(run, target)
    dataset = origin_of(run).dataset()
    body, decision = firmware.monitor.body, firmware.monitor.decision
    controller, alarm = decision.controller, firmware.monitor.alarm
    fed = Feed(dataset, source, body.graph.tensors[body.graph.input])
    frames = len(fed) if limit is None else min(limit, len(fed))
    with attached(firmware, port) as client:
        yield MonitorSession(
            run=run.name,
            target=target.name,
            part=target.part,
            counter=client.hello().counter_unit,
            budget=controller.budget_q24 / 2**24 if controller else None,
            foreign_threshold_q16=decision.foreign_threshold_q16,
            alarm=alarm if alarm.is_on else None,
            frames=frames,
            seen=answers(client, fed, frames),
            client=client,
            fed=fed,
        )


class Feed:
    """What is sent, in order: (condition, severity, int8 input)."""

    def __init__(self, dataset: Dataset, source: str, tensor: Tensor) -> None:
        self.class_names = dataset.class_names
        self.tensor = tensor
        self._dataset = dataset
        self._stream = build_stream(dataset, "test", STREAM_SEED) if source == "stream" else None

    def __len__(self) -> int:
        return len(self._stream) if self._stream else len(self._dataset.test)

    def __iter__(self) -> Iterator[tuple[str, int, NDArray[np.int8]]]:
        if self._stream is None:
            for x in self._dataset.test.x:
                (real,) = self._dataset.front_end(x[None])
                yield "clean", 0, self.tensor.quantize(real)
            return
        for frames in self._stream.frames():
            for real in frames.x:
                segment = frames.segment
                yield segment.condition, segment.severity, self.tensor.quantize(real)


def answers(client: Client, fed: Feed, frames: int) -> Iterator[MonitorFrame]:
    if not frames:
        return  # nor does a stream begin: what the device remembers of its own stays
    client.start()
    for number, (condition, severity, x) in zip(range(frames), fed, strict=False):
        answer = client.infer(x.tobytes())
        yield MonitorFrame(
            frame=number,
            time_s=time.time(),
            condition=condition,
            severity=severity,
            predicted=answer.predicted,
            class_name=fed.class_names[answer.predicted],
            abstain=answer.abstain,
            score_q16=answer.score_q16,
            uncertainty_q16=answer.uncertainty_q16,
            foreign=answer.foreign,
            foreign_q16=answer.foreign_q16,
            rate_q24=answer.rate_q24,
            threshold_q24=answer.threshold_q24,
            alarm=answer.watch.on,
            statistic_q16=answer.watch.statistic_q16,
            alarms=answer.watch.alarms,
            baseline_left=answer.watch.baseline_left,
            right_q24=answer.watch.right_q24,
            count=answer.count,
        )


@contextmanager
def recording(path: Path | None) -> Iterator["Recorder"]:
    """Records frames to a new file; without a path, to nowhere."""
    if path is None:
        yield Recorder(None)
        return
    with disk_errors(path, "--record"):
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:
            raise UsageError(
                f"{path} exists already", "Give --record another name; nothing is overwritten."
            ) from None
        with file:
            yield Recorder(file)


@dataclass(frozen=True, eq=False)
class Recorder:
    """A line of JSON for each frame, in the file as soon as it is seen."""

    file: IO[str] | None

    def add(self, seen: MonitorFrame) -> None:
        if self.file:
            self.file.write(dumps(asdict(seen)) + "\n")
            self.file.flush()
