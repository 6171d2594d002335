"""snap ablate"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render_ablate
from snapcli.cli.flags import Given, about, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.opening import opened
from snapcli.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    CmsisNn,
    NoWait,
    RunPath,
    RunsDir,
)
from snapcli.config import AblateOptions, override

EXAMPLES = (
    "snap ablate taps",
    "snap ablate rank --target small-mcu",
    "snap ablate map --run digits-001 --json",
    "snap ablate mode",
)


@takes(AblateOptions)
def ablate(
    kind: Annotated[str, typer.Argument(help=about(AblateOptions, "kind"), show_default=False)],
    given: Given,
    cmsis_nn: CmsisNn = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Vary one thing of a run: what it gives, with intervals, and what it costs.

    Minutes; mode trains the backbone twice more, each time as long as the run's training took, and
    goes on where it was interrupted.
    """
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.ablate import ablate as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    export = run_recipe(chosen).export_c
    options = override(
        AblateOptions(target=export.target, kernels=export.kernels),
        kind=kind,
        **given,
    )
    announce_fetch(options.kernels, cmsis_nn)
    with console.progress("ablate") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else render_ablate.table(report)
