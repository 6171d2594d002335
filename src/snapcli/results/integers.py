"""The figures of the integers that a device computes, however a run began."""

from snapcli.origin.origin import origin_of
from snapcli.results.calibrate import Figures, calibrate_record
from snapcli.results.quantize import quantize_report
from snapcli.runs import Run


def integer_figures(run: Run) -> Figures:
    """Of a run whose integer stage is done."""
    stage = origin_of(run).integer_stage
    folder = run.path(stage)
    return calibrate_record(folder).report if stage == "calibrate" else quantize_report(folder)
