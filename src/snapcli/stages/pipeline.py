"""The stages of a recipe in a row."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

from snapcli.config import NO_DETECTOR, Recipe
from snapcli.errors import CheckError, UsageError
from snapcli.progress import OnProgress
from snapcli.results.alarm import AlarmReport
from snapcli.results.calibrate import CalibrateReport
from snapcli.results.export_c import ExportReport
from snapcli.results.flash import FlashReport
from snapcli.results.quantize import QuantizeReport
from snapcli.results.train import TrainReport
from snapcli.runs import Run
from snapcli.stages.alarm import alarm
from snapcli.stages.bench import BenchReport, bench
from snapcli.stages.calibrate import calibrate
from snapcli.stages.export_c import export_c
from snapcli.stages.library import build_only
from snapcli.stages.quantize import quantize
from snapcli.stages.train import train
from snapcli.targets import load_target


@dataclass(frozen=True)
class PipelineReport:
    """alarm is None where the recipe has none, or the data cannot bear one; bench for a board that
    is not attached."""

    train: TrainReport
    calibrate: CalibrateReport
    quantize: QuantizeReport
    alarm: AlarmReport | None
    export_c: ExportReport
    flash: FlashReport
    bench: BenchReport | None


def pipeline(
    run: Run, recipe: Recipe, watch: Callable[[str], AbstractContextManager[OnProgress]]
) -> PipelineReport:
    """watch(stage) is entered around each stage and gives its progress function."""
    target = load_target(recipe.export_c.target)
    with watch("train") as on_progress:
        trained = train(run, recipe, on_progress=on_progress)
    with watch("calibrate") as on_progress:
        calibrated = calibrate(run, recipe.calibrate, on_progress)
    with watch("quantize") as on_progress:
        quantized = quantize(run, recipe.quantize, on_progress)
    alarmed = None
    if recipe.alarm.detector != NO_DETECTOR:
        with watch("alarm") as on_progress, suppress(CheckError, UsageError):
            alarmed = alarm(run, recipe.alarm, on_progress=on_progress)
    with watch("export-c"):
        exported = export_c(run, recipe.export_c)
    with watch("flash"):
        flashed = build_only(run, target)
    benched = None
    if target.emulator:
        with watch("bench") as on_progress:
            benched = bench(run, target.name, recipe.bench, on_progress=on_progress)
    return PipelineReport(trained, calibrated, quantized, alarmed, exported, flashed, benched)
