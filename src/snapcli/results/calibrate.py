"""What every calibration reports, of the float model or in integers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapcli.config import CalibrateOptions
from snapcli.metrics.detection import ErrorDetection
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
class Figures:
    """What follows from a decision, on test data; dev holds the figures that the map was chosen
    by. reads_surprise: whether U depends on the heads at all. Accuracies by severity are means
    over all corruption types."""

    temperature: float
    tap_weights: dict[str, float]
    map: dict[str, Any]
    map_reason: str
    reads_surprise: bool
    threshold: float
    promise: Promise | None
    coverage_clean_test: float
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
