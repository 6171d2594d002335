"""snap cost"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render_cost
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, CmsisNn, Kernels, NoWait, RunPath, RunsDir
from snapcli.cli.words import names
from snapcli.config import CostOptions, override

EXAMPLES = (
    "snap cost",
    "snap cost --target small-mcu --kernels cmsis-nn",
    "snap cost --methods snap,hybrid,mahalanobis-full",
    "snap cost --run digits-001 --json",
)


def cost(
    methods: Annotated[
        str,
        typer.Option(
            help="all, single-pass, trained, or names with commas (snap methods lists them); all "
            "but snap with other maps or heads."
        ),
    ] = "",
    target: Annotated[
        list[str] | None,
        typer.Option(help="A board or an emulated one, again for another; both boards."),
    ] = None,
    kernels: Kernels = None,
    cmsis_nn: CmsisNn = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Compile every method for the boards: flash, RAM and instructions, and what does not fit."""
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.cost import cost as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(
        CostOptions(kernels=run_recipe(chosen).export_c.kernels),
        methods=names(methods) or (),
        targets=tuple(target) if target else None,
        kernels=kernels,
    )
    announce_fetch(options.kernels, cmsis_nn)
    with console.progress("cost") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else render_cost.cost(report)
