"""snap eval"""

from snapcli import console
from snapcli.cli import render_eval
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.config import EvalOptions, override

EXAMPLES = (
    "snap eval",
    "snap eval --methods snap,energy,mahalanobis-full --on int8",
    "snap eval --methods all --on float",
    "snap eval --on device",
)


@takes(EvalOptions)
def eval(
    given: Given,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Compare every method of the paper, with intervals."""
    from snapcli.stages.eval import evaluate

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(EvalOptions(), **given)
    with console.progress("eval") as on_progress:
        report = evaluate(chosen, options, on_progress)
    console.print_json(report) if json else render_eval.table(report)
