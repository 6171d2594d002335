"""The six stages in a row."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from snapcli.config import Recipe
from snapcli.progress import OnProgress
from snapcli.results.calibrate import CalibrateReport
from snapcli.results.export_c import ExportReport
from snapcli.results.flash import FlashReport
from snapcli.results.quantize import QuantizeReport
from snapcli.results.train import TrainReport
from snapcli.runs import Run
from snapcli.stages.bench import BenchReport, bench
from snapcli.stages.calibrate import calibrate
from snapcli.stages.export_c import export_c
from snapcli.stages.library import build_only
from snapcli.stages.quantize import quantize
from snapcli.stages.train import train
from snapcli.targets import load_target


@dataclass(frozen=True)
class PipelineReport:
    """bench is None for a board that is not attached."""

    train: TrainReport
    calibrate: CalibrateReport
    quantize: QuantizeReport
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
    with watch("export-c"):
        exported = export_c(run, recipe.export_c)
    with watch("flash"):
        flashed = build_only(run, target)
    benched = None
    if target.emulator:
        with watch("bench") as on_progress:
            benched = bench(run, target.name, recipe.bench, on_progress=on_progress)
    return PipelineReport(trained, calibrated, quantized, exported, flashed, benched)
