"""snap export-c"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
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
from snapcli.cli.render import size
from snapcli.cli.timeline import peak, step_names, timeline
from snapcli.config import ExportOptions, override
from snapcli.errors import UsageError, suggestion

if TYPE_CHECKING:
    from snapcli.emit import Program
    from snapcli.results.export_c import ExportReport
    from snapcli.runs import Run
    from snapcli.stages.export_tflm import TflmReport

EXAMPLES = (
    "snap export-c",
    "snap export-c --target small-mcu --kernels cmsis-nn",
    "snap export-c --model kws.tflite --target small-mcu --out kws_c/",
    "snap export-c --model kws.tflite --explain",
    "snap export-c --runtime tflm --target small-mcu",
)
PICTURE_MIN, PICTURE_MAX = 12, 48  # columns
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
                show_arena(plan)
    if given.get("kernels") not in (None, report.kernels):
        console.note(f"{report.target} has no DSP extension: all layers use '{report.kernels}'.")
    console.print_json(report) if json else show(report)


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
    console.print_json(report) if json else show_tflm(report)


def show(report: "ExportReport") -> None:
    how = "measured" if report.flash_measured else "estimated"
    rows = [
        ("model id", report.model_id),
        ("multiply-accumulates", f"{report.macs:,}"),
        ("kernels", report.kernels),
        (f"flash, {how}", f"{size(report.flash_bytes)}, constants {size(report.constant_bytes)}"),
        ("arena, input to output", size(report.arena_bytes)),
        ("largest live set", f"{size(report.live_bytes)}, arena {_share(report)} of it"),
        ("files", report.folder),
    ]
    console.pairs(f"export-c: {report.source} for {report.target}", rows)


def show_tflm(report: "TflmReport") -> None:
    how = "measured" if report.flash_measured else "estimated"
    grows = report.live_bytes - report.plain_live_bytes
    rows = [
        ("model id", report.model_id),
        ("flatbuffer", size(report.flatbuffer_bytes)),
        (f"monitor's flash, {how}", size(report.flash_bytes)),
        ("monitor's scratch", size(report.scratch_bytes)),
        ("interpreter's arena grows by", f"{size(grows)} to {size(report.kept_bytes)}"),
        ("operators", ", ".join(report.operators)),
        ("files", report.folder),
    ]
    console.pairs(f"export-c: {report.source} for {report.target}, TFLite-Micro", rows)


def _share(report: "ExportReport") -> str:
    return f"{report.arena_bytes / max(report.live_bytes, 1):.2f}"


def show_arena(program: "Program") -> None:
    """The arena over time: a line per step, a column per part of the arena."""
    # What the other columns and the frame leave free.
    others = max(map(len, step_names(program))) + 31
    columns = min(PICTURE_MAX, max(PICTURE_MIN, console.width() - others))
    rows = [
        (row.step, f"{row.live_bytes:,}", f"{row.span_bytes:,}", row.picture)
        for row in timeline(program, columns)
    ]
    console.say(
        f"The arena of {size(program.full.arena_bytes)} from left to right: "
        "# written, - read for the last time, = waits."
    )
    console.table("arena", ("step", "alive, B", "span, B", "0" + " " * (columns - 1)), rows)
    at = peak(program)
    console.say(f"Peak at {at.step}: " + ", ".join(at.holders))
