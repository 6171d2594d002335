"""snap cost"""

from snapcli import console
from snapcli.cli import render_cost
from snapcli.cli.flags import Given, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, CmsisNn, NoWait, RunPath, RunsDir
from snapcli.config import CostOptions, override

EXAMPLES = (
    "snap cost",
    "snap cost --target small-mcu --kernels cmsis-nn",
    "snap cost --methods snap,hybrid,mahalanobis-full",
    "snap cost --run digits-001 --json",
)


@takes(CostOptions)
def cost(
    given: Given,
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
    options = override(CostOptions(kernels=run_recipe(chosen).export_c.kernels), **given)
    announce_fetch(options.kernels, cmsis_nn)
    with console.progress("cost") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else render_cost.cost(report)
