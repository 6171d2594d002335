"""What `snap eval` reports: eval/eval.json. Every figure has its interval."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snapcli.methods.method import Tuning
from snapcli.metrics.bootstrap import Interval
from snapcli.stored import conform, read_as

SCHEMA = 2
FILE = "eval.json"
DONE, NOT_RUN, NOT_ASKED = "done", "not run", "not asked for"


@dataclass(frozen=True)
class DetectionFigures:
    """How well a score finds positives (errors, or foreign inputs). fpr95: the share of negatives
    above the threshold that finds 95 % of the positives."""

    auroc: Interval
    aupr: Interval
    fpr95: Interval


@dataclass(frozen=True)
class Errors:
    """Positive is a wrong answer. pooled: over clean and corrupted data, the mean of two turns
    (score/turns.py); per_cell: mean over the `cells` (type, severity) that hold both right and
    wrong answers."""

    pooled: DetectionFigures
    per_cell: DetectionFigures
    clean: DetectionFigures
    cells: int


@dataclass(frozen=True)
class EventFigures:
    """On the test stream. auprc: of frames in an event; weighted: every event counts the same.
    threshold: the one with the best F1 on the dev stream. delay: median over detected events, in
    frames, without an interval below 10 events. miss_rate: share of events without an alarm.
    false_positives: share of clean frames above the threshold that finds 90 % of the event frames
    of the dev stream."""

    events: int
    auprc: Interval
    weighted_auprc: Interval
    threshold: float
    delay: Interval
    miss_rate: float
    false_positives: float


@dataclass(frozen=True)
class Selective:
    """Error rate among the accepted at 80, 90 and 95 % coverage; area under that curve; negative
    log-likelihood of the accepted at 90 %."""

    risk_80: Interval
    risk_90: Interval
    risk_95: Interval
    aurc: Interval
    nll_90: Interval


@dataclass(frozen=True)
class ProbabilityFigures:
    nll: Interval
    brier: Interval
    ece: Interval


@dataclass(frozen=True)
class Reliability:
    """One of 15 bins of equal mass, the mean over the turns: mean stated probability, share that
    came true, share of all examples."""

    stated: float
    observed: float
    mass: float


@dataclass(frozen=True)
class Cluster:
    """Of one corruption type at severities 4 and 5: errors, and the share of them that the
    threshold of EventFigures' 90 % recall refuses."""

    type: str
    errors: int
    refused: float


@dataclass(frozen=True)
class MethodFigures:
    """status: done, or `not run` with the reason in why; all else is then empty.

    by_severity, by_type: mean over cells of AUROC and AUPR of errors. posterior: calibration of
    the probabilities, U: of the score itself as a probability of error (None if it is none); both
    on clean and on corrupted test data. selective: on the clean and on all test data. gains:
    {figure: of this method over max-probability, paired}, snap_gains: of snap over this method;
    positive is better for every figure, named as in `errors.pooled.auroc` or `events.auprc`.
    risk_coverage: [coverage, risk] pairs on all test data. stream: the score of every frame of
    the test stream, thinned to at most 1,000 (largest of each group)."""

    name: str
    kind: str
    status: str
    why: str = ""
    source: str = ""
    tuning: Tuning | None = None
    accuracy: float = float("nan")
    errors: Errors | None = None
    ood: dict[str, DetectionFigures] = field(default_factory=dict)
    by_severity: dict[str, DetectionFigures] = field(default_factory=dict)
    by_type: dict[str, DetectionFigures] = field(default_factory=dict)
    events: EventFigures | None = None
    selective: dict[str, Selective] = field(default_factory=dict)
    posterior: dict[str, ProbabilityFigures] = field(default_factory=dict)
    uncertainty: dict[str, ProbabilityFigures] | None = None
    gains: dict[str, Interval] = field(default_factory=dict)
    snap_gains: dict[str, Interval] = field(default_factory=dict)
    clusters: tuple[Cluster, ...] = ()
    risk_coverage: tuple[tuple[float, float], ...] = ()
    reliability: dict[str, tuple[Reliability, ...]] = field(default_factory=dict)
    stream: tuple[float, ...] = ()


@dataclass(frozen=True)
class StreamSegment:
    """Frames first to first + frames - 1."""

    kind: str
    condition: str
    severity: int
    first: int
    frames: int


@dataclass(frozen=True)
class StreamView:
    """The test stream. events: (onset, offset) by the base model's answers; lower: what its
    accuracy over 100 frames falls below in an event."""

    frames: int
    lower: float
    events: tuple[tuple[int, int], ...]
    segments: tuple[StreamSegment, ...]


@dataclass(frozen=True)
class SourceFigures:
    """source: float, int8 or device. accuracy by condition: `clean`, then severities. taps and
    tap_correlation [taps, taps]: of the surprisals over all test data, with S last."""

    source: str
    examples: dict[str, int]
    accuracy: dict[str, float]
    taps: tuple[str, ...]
    tap_correlation: tuple[tuple[float, ...], ...]
    stream: StreamView | None
    methods: tuple[MethodFigures, ...]


@dataclass(frozen=True)
class EvalReport:
    """replicates: of the bootstrap. limit: examples of a corrupted condition or OOD set. streams:
    test streams that were played."""

    schema: int
    run: str
    dataset: str
    model: str
    seed: int
    limit: int
    replicates: int
    streams: int
    sources: dict[str, SourceFigures]


def report_from_dict(values: Any) -> EvalReport:
    """What asdict() and JSON made of a report; a missing figure is nan again. Raises ValueError."""
    report: EvalReport = conform(EvalReport, values)
    return report


def eval_report(folder: Path) -> EvalReport:
    """folder: eval/ of a run."""
    return read_as(folder / FILE, EvalReport)
