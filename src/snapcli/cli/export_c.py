"""snap export-c"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.flags import Given, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.opening import opened
from snapcli.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    CmsisNn,
    ModelFile,
    NoWait,
    RunPath,
    RunsDir,
)
from snapcli.config import ExportOptions, override
from snapcli.errors import UsageError, suggestion

if TYPE_CHECKING:
    from snapcli.emit import Program
    from snapcli.runs import Run

EXAMPLES = (
    "snap export-c",
    "snap export-c --target small-mcu --kernels cmsis-nn",
    "snap export-c --model kws.tflite --target small-mcu --out kws_c/",
    "snap export-c --model kws.tflite --explain",
    "snap export-c --runtime tflm --target small-mcu",
)
_C, _TFLM = "c", "tflm"


@takes(ExportOptions)
def export_c(
    given: Given,
    model: ModelFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for --model; <model>_c here if not given.")
    ] = None,
    runtime: Annotated[
        str,
        typer.Option(help="c: all of it is C. tflm: flatbuffer and monitor for TFLite-Micro."),
    ] = _C,
    cmsis_nn: CmsisNn = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the arena over time and who holds the peak.")
    ] = False,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Write a model, with its monitor if it has one, as a folder of C, if it fits the target."""
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.export_c import export_c as stage
    from snapcli.stages.export_c import export_model

    if model is None and out is not None:
        raise UsageError("--out goes with --model", "The C of a run lies in the run.")
    if model is not None and run is not None:
        raise UsageError("--model and --run are two different sources", "Give one of them.")
    if runtime != _C:
        _check_tflm(runtime, model, given.get("kernels") or cmsis_nn, explain)
        _export_tflm(opened(run, runs_dir, no_wait, allow_code), given.get("target"), json)
        return
    plans: list[Program] = []
    try:
        if model is not None:
            options = override(ExportOptions(), **given)
            announce_fetch(options.kernels, cmsis_nn)
            place = out or Path(f"{model.stem}_c")
            with console.progress("export-c"):
                report = export_model(model, place, options, cmsis_nn, plans.append)
        else:
            chosen = opened(run, runs_dir, no_wait, allow_code)
            options = override(run_recipe(chosen).export_c, **given)
            announce_fetch(options.kernels, cmsis_nn)
            with console.progress("export-c"):
                report = stage(chosen, options, cmsis_nn, plans.append)
    finally:
        # Also of a model that does not fit: that is when one wants to know.
        if explain and not json:
            for plan in plans:
                render.arena(plan)
    if given.get("kernels") not in (None, report.kernels):
        console.note(f"{report.target} has no DSP extension: all layers use '{report.kernels}'.")
    console.print_json(report) if json else render.export_c(report)


def _check_tflm(
    runtime: str, model: Path | None, kernels: str | Path | None, explain: bool
) -> None:
    """Refuses what means nothing where TFLite-Micro computes the layers."""
    if runtime != _TFLM:
        raise UsageError(f"there is no runtime '{runtime}'", suggestion(runtime, (_C, _TFLM)))
    if model is not None:
        raise UsageError(
            "--runtime tflm is for a monitor, and --model has none",
            "Leave --model out: it exports model and monitor of a run.",
        )
    if kernels is not None:
        raise UsageError(
            "--kernels and --cmsis-nn go with --runtime c",
            "Leave them out: your build of TFLite-Micro has kernels of its own.",
        )
    if explain:
        raise UsageError(
            "--explain goes with --runtime c",
            "Leave it out: TFLite-Micro plans its arena on the device.",
        )


def _export_tflm(run: "Run", target: str | None, json: bool) -> None:
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.export_tflm import export_tflm

    with console.progress("export-c"):
        report = export_tflm(run, override(run_recipe(run).export_c, target=target).target)
    console.print_json(report) if json else render.export_tflm(report)
