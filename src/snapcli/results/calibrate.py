"""What every calibration reports, of the float model or in integers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapcli.config import CalibrateOptions
from snapcli.metrics.detection import ErrorDetection
from snapcli.score.by_answer import AnswerFigures
from snapcli.score.calibration import DetectionReport
from snapcli.score.promise import Promise
from snapcli.stored import read_as


@dataclass(frozen=True)
class ControllerReport:
    """The budget controller, and the share of clean test data that abstains, one after the other
    in their order, where it moves the threshold."""

    budget: float
    eta: float
    kappa: float
    abstained_clean_test: float


@dataclass(frozen=True)
class HeadsReport:
    """What the heads are good for. present: whether the monitor has any; read: whether U depends on
    them. idle: they cost, and neither U nor F is worse without them. gain: worth of the map on dev
    beyond the best without heads. find_errors, find_foreign: whether U gains by them, and whether
    F does, by which dev data are told from shifted ones. nan and None where dev data cannot tell,
    which without labels, or without corruptions, they do not."""

    present: bool
    read: bool
    idle: bool
    gain: float
    find_errors: bool | None
    find_foreign: bool | None


@dataclass(frozen=True)
class ForeignReport:
    """F: its inputs, its threshold, the share of clean dev data that this was set for, and the
    shares of clean test data and of each foreign set that are called foreign."""

    inputs: tuple[str, ...]
    threshold: float
    share: float
    clean_test: float
    found: dict[str, float]


@dataclass(frozen=True)
class Figures:
    """What follows from a decision, on test data; dev holds the figures that the map was chosen
    by. heads come first, in JSON too: whether they are worth their cost is the first thing to know.
    answers: of maps that are told the answer. Accuracies by severity are means over all corruption
    types."""

    heads: HeadsReport
    temperature: float
    tap_weights: dict[str, float]
    map: dict[str, Any]
    map_reason: str
    threshold: float
    promise: Promise | None
    coverage_clean_test: float
    foreign: ForeignReport
    answers: tuple[AnswerFigures, ...]
    controller: ControllerReport | None
    accuracy_by_severity: dict[str, float]
    dev: dict[str, ErrorDetection]
    detection: DetectionReport


@dataclass(frozen=True)
class CalibrateReport(Figures):
    """test_accuracy: on clean test data, in [0, 1]; nan without labels, where errors are answers
    that a corruption changed."""

    run: str
    threshold_rule: str
    test_accuracy: float


@dataclass(frozen=True)
class CalibrateRecord:
    """calibration.json of calibrate."""

    options: CalibrateOptions
    report: CalibrateReport


def calibrate_record(folder: Path) -> CalibrateRecord:
    """folder: calibrate/ of a run."""
    return read_as(folder / "calibration.json", CalibrateRecord)
