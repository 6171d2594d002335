"""snap attach"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.flags import Given, about, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.options import RUNS, AsJson, CmsisNn, RunsDir
from snapcli.config import (
    DATASETS,
    THRESHOLDS,
    AttachOptions,
    CalibrateOptions,
    ExportOptions,
    Recipe,
    override,
)
from snapcli.errors import UsageError

EXAMPLES = (
    "snap attach kws.tflite --data recordings/ --target small-mcu",
    "snap attach kws.tflite --data recordings/ --labels down,go,left,no,unknown",
    "snap attach model.keras --data photos/ --front-end unit --augment-dev",
    "snap attach model.tflite --data inputs.npz --taps conv2,conv3 --coverage 0.95",
    "snap attach model.h5 --data mypkg.inputs:load",
)
# Every corrupted condition costs a pass over so many examples.
_LIMIT = 100
_DECISION = "Decision"


@takes(AttachOptions)
def attach(
    model: Annotated[Path, typer.Argument(help=about(AttachOptions, "model"))],
    data: Annotated[
        str,
        typer.Option(rich_help_panel="Data", help=about(AttachOptions, "data")),
    ],
    given: Given,
    limit: Annotated[
        int,
        typer.Option(rich_help_panel=_DECISION, help="Examples of each corrupted condition."),
    ] = _LIMIT,
    coverage: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=_DECISION,
            help=f"Share of clean inputs that is accepted.  [default: {THRESHOLDS['coverage']:g}]",
        ),
    ] = None,
    map: Annotated[
        str,
        typer.Option(rich_help_panel=_DECISION, help="From S to U, as in `snap calibrate`."),
    ] = CalibrateOptions.map,
    allow_code: Annotated[
        bool,
        typer.Option("--allow-code", help="Run code inside of a Keras model that you trust."),
    ] = False,
    target: Annotated[
        str, typer.Option(help=about(ExportOptions, "target"))
    ] = ExportOptions.target,
    kernels: Annotated[
        str, typer.Option(help=about(ExportOptions, "kernels"))
    ] = ExportOptions.kernels,
    cmsis_nn: CmsisNn = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Give a finished model heads, a map and a threshold, into a new run."""
    from dataclasses import replace

    from snapcli.origin.recipe import run_prefix
    from snapcli.runs import new_run
    from snapcli.stages.attach import attach as stage
    from snapcli.usercode import allow_code as allow

    allow(allow_code)
    if given.get("taps") == ():
        raise UsageError("no tap given", "Name some, or leave --taps out.")
    if coverage is not None and not 0 < coverage <= 1:
        raise UsageError(f"--coverage is {coverage:g}", "Give a share above 0, at most 1.")
    if "labels" in given:
        given["labels"] = _placed(given["labels"])
    defaults = Recipe()
    recipe = replace(
        defaults,
        attach=override(
            defaults.attach,
            model=str(model.expanduser().resolve()),
            data=_placed(data),
            code_dir=str(Path.cwd()) if ":" in f"{data}{given.get('front_end', '')}" else None,
            **given,
        ),
        calibrate=override(defaults.calibrate, map=map, target=coverage, limit=limit),
        export_c=override(defaults.export_c, target=target, kernels=kernels),
    )
    announce_fetch(recipe.export_c.kernels, cmsis_nn)
    place = new_run(runs_dir, run_prefix(str(model)))
    with place as run, console.progress("attach") as on_progress:
        report = stage(run, recipe, cmsis_nn, on_progress)
    console.print_json(report) if json else render.attach(report)


def _placed(name: str) -> str:
    """Later commands find a file from wherever they are typed; a data set's name is not a file."""
    path = Path(name).expanduser()
    return str(path.resolve()) if name and name not in DATASETS and path.exists() else name
