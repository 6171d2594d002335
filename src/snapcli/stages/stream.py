"""stream: plays the evaluation stream through a device and keeps its answer to every frame.

No label is sent. Every answer is checked bit for bit against the integer reference when it comes.
A device that resets half-way goes on where it was, because all that a stream remembers comes back
with every answer; a stream that was cut off is taken up by the next one that is the same.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.data.streams import STREAM_SEED, Segment, Stream, build_stream
from snapcli.device import Client, Hello
from snapcli.errors import UsageError
from snapcli.measuring.exact import Reference, check_exact
from snapcli.measuring.firmware import attached, built_firmware, target_at
from snapcli.measuring.frame_log import FrameLog
from snapcli.metrics.timing import timing
from snapcli.monitor.monitor import Monitor
from snapcli.origin.origin import origin_of
from snapcli.progress import OnProgress, silent
from snapcli.results.stream import SCHEMA, SegmentReport, StreamReport
from snapcli.runs import Run, disk_errors, json_writer
from snapcli.targets import Target

SPLITS = ("test", "dev")
_SAVE_EVERY = 256  # frames
_BATCH = 64  # frames whose reference is computed at once


def stream(
    run: Run,
    target_name: str | None,
    split: str = "test",
    limit: int | None = None,
    port: str | None = None,
    on_progress: OnProgress = silent,
) -> StreamReport:
    """limit: only so many frames, the first ones."""
    if split not in SPLITS:
        raise UsageError(f"there is no stream of {split}", f"Known: {', '.join(SPLITS)}.")
    target = target_at(run, target_name, port)
    with run.making(f"stream/{target.name}"):
        return _stream(run, target, split, limit, port, on_progress)


def _stream(
    run: Run,
    target: Target,
    split: str,
    limit: int | None,
    port: str | None,
    on_progress: OnProgress,
) -> StreamReport:
    firmware = built_firmware(run, target)
    plan = build_stream(origin_of(run).dataset(), split, STREAM_SEED)
    frames = min(limit or len(plan), len(plan))
    base = f"bench/{target.name}-stream"
    partial = run.path(f"bench/.{target.name}-stream-{frames}.partial")
    with attached(firmware, port) as client:
        hello = client.hello()
        log = FrameLog.empty(frames, hello.taps, hello.classes)
        player = Player(
            client=client,
            monitor=firmware.monitor,
            plan=plan,
            log=log,
            partial=partial,
            identity=identity_of(hello, plan, frames),
            remedy=firmware.remedy,
        )
        with disk_errors(run.root):
            resumed_at = player.restore()
            began = time.monotonic()
            player.play(on_progress)
        seconds = time.monotonic() - began
        repeats, restarts = client.repeats, client.restarts
    controller = firmware.monitor.decision.controller
    alarm = firmware.monitor.alarm
    after = (firmware.stage, *firmware.deployed.stages)

    def arrays(path: Path) -> None:
        labels = np.concatenate([plan.labels(segment) for segment in plan.segments])[:frames]
        with path.open("wb") as file:
            np.savez_compressed(file, label=labels, **log.arrays)  # type: ignore[arg-type]

    report = StreamReport(
        schema=SCHEMA,
        run=run.name,
        target=target.name,
        part=target.part,
        model_id=hello.model_id,
        settings_check=hello.settings_check,
        image_crc=hello.image_crc,
        split=split,
        seed=STREAM_SEED,
        frames=frames,
        planned=len(plan),
        bit_exact=log.done,
        resumed_at=resumed_at,
        abstained=int(log.arrays["abstain"].sum()),
        foreign=int(log.arrays["foreign"].sum()),
        budget=controller.budget_q24 / 2**24 if controller else None,
        watched=alarm.signal if alarm.is_on else None,
        alarm_threshold=alarm.parameters.threshold_q16 / 2**16 if alarm.is_on else None,
        alarms=int(log.arrays["alarm_alarms"][-1]),
        first_alarm=int(on.argmax()) if (on := log.arrays["alarm_on"]).any() else None,
        repeats=repeats,
        restarts=restarts,
        seconds=seconds,
        counter=hello.counter_unit,
        timing=timing(log.arrays["count"].astype(np.int64), hello.counter_step),
        segments=_segments(plan, log),
    )
    files = {".npz": arrays, ".json": json_writer(asdict(report))}
    run.add_files(f"stream/{target.name}", base, after, files)
    player.forget()
    return report


@dataclass(eq=False)
class Player:
    """A stream on its way through a device."""

    client: Client
    monitor: Monitor
    plan: Stream
    log: FrameLog
    partial: Path
    identity: dict[str, Any]
    remedy: str

    def restore(self) -> int:
        """Take up the stream that was cut off, if it was this one; the frame to go on with."""
        self.log.restore(self.partial, self.identity)
        return self.log.done

    def play(self, on_progress: OnProgress) -> None:
        """All frames from there on. What was answered is kept, whatever ends it."""
        log, total = self.log, len(self.log.arrays["time_s"])
        reference = Reference(self.monitor, log.state)
        self.client.start(log.state)
        try:
            for segment, x in self._batches(log.done, total):
                for data, expected in zip(x, reference.answers(x), strict=True):
                    answer = self.client.infer(data.tobytes())
                    check_exact(log.done, answer, expected, self.remedy)
                    log.add(answer, time.time())
                    on_progress(log.done, total, _said(segment))
                    if log.done % _SAVE_EVERY == 0:
                        log.save(self.partial, self.identity)
        except BaseException:
            log.save(self.partial, self.identity)
            raise

    def forget(self) -> None:
        """The partial file, and what a kill may have left of writing it."""
        for path in (self.partial, self.partial.with_name(f".{self.partial.name}.new")):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _batches(self, start: int, end: int) -> Iterator[tuple[Segment, NDArray[np.int8]]]:
        tensor = self.monitor.body.graph.tensors[self.monitor.body.graph.input]
        for frames in self.plan.frames(start):
            segment = frames.segment
            first = max(start - segment.first, 0)
            last = min(end - segment.first, len(segment))
            for i in range(first, last, _BATCH):
                yield segment, tensor.quantize(frames.x[i : min(i + _BATCH, last)])
            if segment.first + last == end:
                return


def identity_of(hello: Hello, plan: Stream, frames: int) -> dict[str, Any]:
    """Two streams with the same identity give the same answers to the same frames."""
    digest = hashlib.sha256(f"{plan.dataset.name} {plan.split} {plan.seed} {frames}".encode())
    for segment in plan.segments:
        digest.update(f"{segment.kind} {segment.condition} {segment.severity}".encode())
        digest.update(segment.rows.astype("<i8").tobytes())
    return {
        "target": hello.target,
        "model_id": hello.model_id,
        "image_crc": hello.image_crc,
        "settings_check": hello.settings_check,
        "stream": digest.hexdigest(),
    }


def _segments(plan: Stream, log: FrameLog) -> tuple[SegmentReport, ...]:
    reports = []
    for segment in plan.segments:
        frames = slice(segment.first, segment.first + len(segment))
        abstain, foreign, on = (log.arrays[n][frames] for n in ("abstain", "foreign", "alarm_on"))
        if len(abstain):
            reports.append(
                SegmentReport(
                    segment.kind,
                    segment.condition,
                    segment.severity,
                    segment.first,
                    len(abstain),
                    int(abstain.sum()),
                    int(foreign.sum()),
                    int(on.sum()),
                )
            )
    return tuple(reports)


def _said(segment: Segment) -> str:
    severity = f" {segment.severity}" if segment.severity else ""
    return f"{segment.condition}{severity}"
