"""What `snap fleet` says: the figures of all records, and of each device, build and day."""

from dataclasses import dataclass

SCHEMA = 1


@dataclass(frozen=True)
class Figures:
    """Of a group of records. Shares and means are of frames, nan without one; what alarms say is of
    the records that kept one. accuracy: estimated, 1 - mean_uncertainty."""

    records: int
    devices: int
    frames: int
    abstained: float
    foreign: float
    alarms_per_10000: float
    alarm_share: float
    mean_uncertainty: float
    accuracy: float


@dataclass(frozen=True)
class DriftFigures:
    """psi: of U and of F; limit: the most that chance and what is usual explain, nan where too
    little is known; signals: those beyond it, "U" and "F"; since, until: days, None where they are
    not known or it goes on."""

    found: bool
    signals: tuple[str, ...]
    psi: tuple[float, float]
    limit: tuple[float, float]
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True)
class Latest:
    """The end of a device's last record. accuracy: over about 256 frames; None where no alarm is
    kept. missing: records of it that are missing between others."""

    accuracy: float | None
    alarm_on: bool | None
    missing: int


@dataclass(frozen=True)
class Row:
    """A device with a build, a build, or a day of a build."""

    name: str
    build: str
    figures: Figures
    drift: DriftFigures
    latest: Latest | None = None


@dataclass(frozen=True)
class Table:
    """rows: the worst, if there are many; count: how many there are; judged: of how many it can be
    said whether they drift; drifting: how many do."""

    rows: tuple[Row, ...]
    count: int
    judged: int
    drifting: int


@dataclass(frozen=True)
class Point:
    """A day. low, high: a tenth of the devices lies below, another above."""

    day: str
    accuracy: float
    low: float
    high: float
    alarms_per_10000: float
    drifts: bool


@dataclass(frozen=True)
class Curve:
    build: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Portrait:
    """A device that drifts, in its worst week, beside the others of its build: shares of 16 bins of
    U and of F."""

    name: str
    build: str
    own: tuple[tuple[float, ...], tuple[float, ...]]
    peers: tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class FleetReport:
    """damaged: records with a wrong CRC, or cut short; other_versions; impossible: whole, but their
    counts contradict each other; skipped_bytes: what is in no whole record; missing: records that
    others of their device tell of. first, last: days, None without any clock."""

    schema: int
    page: str
    files: int
    size_bytes: int
    duplicates: int
    damaged: int
    other_versions: int
    impossible: int
    skipped_bytes: int
    missing: int
    first: str | None
    last: str | None
    total: Figures
    devices: Table
    builds: Table
    days: Table
    curves: tuple[Curve, ...]
    portraits: tuple[Portrait, ...]
