"""snap taps"""

from snapcli import console
from snapcli.cli import render
from snapcli.cli.flags import Given, takes
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
from snapcli.config import TapsOptions, override

EXAMPLES = (
    "snap taps",
    "snap taps --per instructions --max-overhead 1",
    "snap taps --target big-mcu --max-flash 16",
)


@takes(TapsOptions)
def taps(
    given: Given,
    cmsis_nn: CmsisNn = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Find the blocks that are worth a head, by gain and cost."""
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.taps import taps as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    export = run_recipe(chosen).export_c
    options = override(TapsOptions(target=export.target, kernels=export.kernels), **given)
    with console.progress("taps") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else render.taps(report)
