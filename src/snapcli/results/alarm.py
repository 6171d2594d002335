"""alarm/report.json: what an alarm promises, and what it finds."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.metrics.bootstrap import Interval
from snapcli.results.eval import StreamView
from snapcli.stored import read_as

SCHEMA = 1
REPORT_FILE = "report.json"


@dataclass(frozen=True)
class ShiftFound:
    """A condition that begins suddenly. drop: accuracy that it costs, a share. found: share of
    the tries with an alarm within the frames that were watched; median and slow (90 %) delays in
    frames, where a miss counts as all of these."""

    name: str
    severity: int
    is_foreign: bool
    drop: float
    found: float
    median: float
    slow: float


@dataclass(frozen=True)
class Group:
    """Of several conditions: harmful, slight, harmless or foreign; nan where there are none."""

    name: str
    shifts: int
    found: float
    median: float
    slow: float


@dataclass(frozen=True)
class StreamFound:
    """Long streams. events: by the accuracy over 100 frames, as in the paper; share: of frames
    that lie in one; harmful: events that cost 10 points or more, with how many were found, and
    the median delay. auprc: of finding the frames of all events, by the alarm's statistic; single:
    by the watched score of each frame alone; plain, plain_single: both on max-probability; ahead:
    auprc less plain. false_alarms: that began in clean parts, per 10,000 frames of these. clears:
    median frames from the end of an episode to the end of its alarm; late: share of the clean
    frames, from 400 after an episode's end, with the alarm on."""

    frames: int
    clean_frames: int
    events: int
    share: float
    harmful: int
    found: int
    delay: float
    false_alarms: float
    auprc: Interval
    single: float
    plain: float
    plain_single: float
    ahead: Interval
    clears: float
    late: float


@dataclass(frozen=True)
class Scenes:
    """Test streams in which an example stays for some frames, scene on average. block: as measured
    on clean dev scenes; without, with_block: the alarm as it is, and fitted anew with that block;
    why with_block is not there: None, or what the promise lacks."""

    scene: int
    block: int
    without: StreamFound
    with_block: StreamFound | None
    why: str | None


@dataclass(frozen=True)
class OffAccuracy:
    """A condition whose estimated accuracy is off."""

    name: str
    severity: int
    estimated: float
    true: float


@dataclass(frozen=True)
class AccuracyEstimate:
    """The mean of 1 - U as a device keeps it. dev, test: its mean distance from the accuracy over
    the last 256 frames of a long stream, a share. off: test conditions where it is off by more than
    OFF_LIMIT."""

    dev: float
    test: float
    off: tuple[OffAccuracy, ...]
    conditions: int


@dataclass(frozen=True)
class Tried:
    """A detector that auto looked at on dev data. borne: whether the data bear its promise. found,
    median, delay (mean, a miss counting as all frames watched), harmless (share of these that
    sound): of corruption types that it was not fitted to; auprc: of events on the paper's
    streams."""

    detector: str
    borne: bool
    found: float
    median: float
    delay: float
    harmless: float
    auprc: float


@dataclass(frozen=True)
class Silence:
    """Frames until a false alarm, on average. asked: as the user wants it; expected: if clean
    frames are like clean dev data; at_least: as sure as 95 %, for frames that are drawn
    independently; on_test: of clean test frames, simulated on so many of these, each stream
    with its own baseline; test_alarms: how many came; test_on: share of these frames with the
    alarm on; blind: share of clean baselines after which the alarm sounds at once."""

    asked: float
    expected: float
    at_least: float
    on_test: float
    test_frames: int
    test_alarms: int
    test_on: float
    clean_examples: int
    blind: float


@dataclass(frozen=True)
class AlarmTimeline:
    """What one device of the test streams saw. statistic: nats, thinned (largest of each group of
    frames); threshold: of it; on: whether the alarm was on anywhere in the group."""

    view: StreamView
    statistic: tuple[float, ...]
    threshold: float
    on: tuple[bool, ...]


@dataclass(frozen=True)
class AlarmReport:
    """threshold: nats, of a sum, or on average over the frames of a mean. block: frames that tell
    as much as one that is drawn independently. paper_stream: as the paper has them, of test data.
    frames_per_second: None where nobody said. watched: frames that a shift had to be found in.
    enough: None, or what the promise lacks."""

    schema: int
    run: str
    detector: str
    signal: str
    reason: str
    threshold: float
    baseline: int
    block: int
    clean_stream_frames: int
    frames_per_second: float | None
    silence: Silence
    enough: str | None
    watched: int
    groups: tuple[Group, ...]
    shifts: tuple[ShiftFound, ...]
    dev_stream: StreamFound
    test_stream: StreamFound
    paper_stream: StreamFound
    timeline: AlarmTimeline
    scenes: Scenes
    accuracy: AccuracyEstimate | None
    tried: tuple[Tried, ...]
    state_bytes: int
    instructions: int | None


def alarm_report(folder: Path) -> AlarmReport:
    """folder: alarm/ of a run."""
    return read_as(folder / REPORT_FILE, AlarmReport)
