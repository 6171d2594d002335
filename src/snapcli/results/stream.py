"""stream/<target>-NNN.json: what a device answered to a stream."""

from dataclasses import dataclass

from snapcli.metrics.timing import Timing
from snapcli.results.eval import StreamSegment
from snapcli.runs import Run
from snapcli.stored import read_as

SCHEMA = 3


@dataclass(frozen=True)
class SegmentReport(StreamSegment):
    """abstained: on how many of its frames the device did; foreign: how many it called so;
    alarmed: during how many its alarm was on."""

    abstained: int
    foreign: int
    alarmed: int


@dataclass(frozen=True)
class StreamReport:
    """planned: frames of the whole stream. resumed_at: the frame that this call began with.
    budget: of the controller, None without one. watched: what the alarm watches, and
    alarm_threshold that of its statistic, None without one; alarms: how many there were, the first
    at frame first_alarm. The answers lie beside it, in
    a file of the same name (SPEC 2)."""

    schema: int
    run: str
    target: str
    part: str
    model_id: str
    settings_check: int
    image_crc: int
    split: str
    seed: int
    frames: int
    planned: int
    bit_exact: int
    resumed_at: int
    abstained: int
    foreign: int
    budget: float | None
    watched: str | None
    alarm_threshold: float | None
    alarms: int
    first_alarm: int | None
    repeats: int
    restarts: int
    seconds: float
    counter: str
    timing: Timing
    segments: tuple[SegmentReport, ...]


def stream_report(run: Run, stage: str) -> StreamReport:
    """Of a stage of the run that is done."""
    record = run.record(stage)
    assert record is not None
    (name,) = (name for name in record["outputs"] if name.endswith(".json"))
    return read_as(run.path(name), StreamReport)
