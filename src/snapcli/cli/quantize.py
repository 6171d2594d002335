"""snap quantize"""

from snapcli import console
from snapcli.cli import render
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.config import QuantizeOptions, override

EXAMPLES = (
    "snap quantize",
    "snap quantize --samples 200",
    "snap quantize --json",
)


@takes(QuantizeOptions)
def quantize(
    given: Given,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Turn model, heads, map and threshold into integers."""
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.quantize import quantize as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(run_recipe(chosen).quantize, **given)
    with console.progress("quantize") as on_progress:
        report = stage(chosen, options, on_progress)
    console.print_json(report) if json else render.quantize(report)
