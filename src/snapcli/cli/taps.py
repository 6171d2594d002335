"""snap taps"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.opening import opened
from snapcli.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    CmsisNn,
    Kernels,
    NoWait,
    RunPath,
    RunsDir,
    TargetName,
)
from snapcli.config import override

EXAMPLES = (
    "snap taps",
    "snap taps --per instructions --max-overhead 1",
    "snap taps --target big-mcu --max-flash 16",
)


def taps(
    per: Annotated[
        str | None, typer.Option(help="What a tap is paid in: flash or instructions.")
    ] = None,
    max_flash: Annotated[
        float | None, typer.Option(help="KB of flash that heads and map may take.")
    ] = None,
    max_overhead: Annotated[
        float | None, typer.Option(help="Percent of the backbone's instructions they may add.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Examples of each corrupted dev condition.")
    ] = None,
    target: TargetName = None,
    kernels: Kernels = None,
    cmsis_nn: CmsisNn = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Find the blocks that are worth a head, by gain and cost."""
    from snapcli.config import TapsOptions
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.taps import taps as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    export = run_recipe(chosen).export_c
    options = override(
        TapsOptions(target=export.target, kernels=export.kernels),
        per=per,
        max_flash=max_flash,
        max_overhead=max_overhead,
        limit=limit,
        target=target,
        kernels=kernels,
    )
    with console.progress("taps") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else render.taps(report)
