"""How a run was calibrated: what every row that is called the run's is made by."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from snapcli.baselines.method import Tuning
from snapcli.baselines.tuning import BY_AUROC
from snapcli.config import FLOAT, CalibrateOptions
from snapcli.graph.monitor import CALIBRATION_FILE
from snapcli.methods.table import Calibration
from snapcli.runs import Run, read_json
from snapcli.score.choice import BY_PREFERENCE
from snapcli.stages.recipe import run_recipe


def calibration_of(run: Run, source: str) -> Calibration:
    """source: one of config.SOURCES. The float model has the map that calibrate took; integers and
    the device have that of quantize or attach, which was fitted to their scores."""
    calibrated = read_json(run.inputs("calibrate") / CALIBRATION_FILE)
    report = calibrated["report"]
    if source != FLOAT and not run.is_attached:
        report = read_json(run.inputs("quantize") / "report.json")
    options = CalibrateOptions(**calibrated["options"])
    if run.is_attached:  # its conditions are those that attach has scored
        options = replace(options, limit=run_recipe(run).calibrate.limit)
    kind = report["map"]["kind"]
    tuning = _tuning(report, kind) if options.map == "auto" else None
    return Calibration(options, kind, tuning)


def _tuning(report: Mapping[str, Any], kind: str) -> Tuning | None:
    """None where there was too little to choose by."""
    figures = report["dev"].get(kind)
    if figures is None:
        return None
    return Tuning({"map": list(BY_PREFERENCE)}, {"map": kind}, BY_AUROC, figures["pooled"]["auroc"])
