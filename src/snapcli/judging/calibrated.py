"""How a run was calibrated: the settings of every row that stands for the run."""

from dataclasses import dataclass, replace

from snapcli.config import FLOAT, MAPS, CalibrateOptions
from snapcli.errors import ArtifactError
from snapcli.methods.method import Tuning
from snapcli.methods.table import Calibration
from snapcli.methods.tuning import BY_AUROC
from snapcli.monitor.monitor import CALIBRATION_FILE
from snapcli.origin.origin import origin_of
from snapcli.runs import Run
from snapcli.score.choice import BY_PREFERENCE
from snapcli.stored import read_as


@dataclass(frozen=True)
class _Map:
    kind: str


@dataclass(frozen=True)
class _Figure:
    auroc: float


@dataclass(frozen=True)
class _Detection:
    pooled: _Figure


@dataclass(frozen=True)
class _Report:
    """What calibrate and quantize both say."""

    map: _Map
    dev: dict[str, _Detection]


@dataclass(frozen=True)
class _Calibrated:
    options: CalibrateOptions
    report: _Report


def calibration_of(run: Run, source: str) -> Calibration:
    """source: one of config.SOURCES. The float model has the map that calibrate took; integers and
    the device have that of quantize or attach, which was fitted to their scores."""
    path = run.inputs("calibrate") / CALIBRATION_FILE
    calibrated: _Calibrated = read_as(path, _Calibrated)
    report = calibrated.report
    origin = origin_of(run)
    if source != FLOAT and origin.has_float:
        path = run.inputs("quantize") / "report.json"
        report = read_as(path, _Report)
    options, kind = calibrated.options, report.map.kind
    if kind not in MAPS:
        raise ArtifactError(f"{path} names an unknown map", f"Run: {run.remedy('calibrate')}")
    options = replace(options, limit=origin.limit(options))
    tuning = _tuning(report, kind) if options.map == "auto" else None
    return Calibration(options, kind, tuning)


def _tuning(report: _Report, kind: str) -> Tuning | None:
    """None where there was too little to choose by."""
    figures = report.dev.get(kind)
    if figures is None:
        return None
    return Tuning({"map": list(BY_PREFERENCE)}, {"map": kind}, BY_AUROC, figures.pooled.auroc)
