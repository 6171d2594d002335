"""snap export-c"""

from snapcli import console
from snapcli.cli import render
from snapcli.cli.options import RUNS, AsJson, RunPath, RunsDir, TargetName
from snapcli.config import override

EXAMPLES = (
    "snap export-c",
    "snap export-c --target small-mcu",
)


def export_c(
    target: TargetName = None,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Write model and monitor as C, if they fit the target."""
    from snapcli.runs import open_run
    from snapcli.stages.export_c import export_c as stage
    from snapcli.stages.recipe import run_recipe

    chosen = open_run(run, runs_dir)
    report = stage(chosen, override(run_recipe(chosen).export_c, target=target))
    if json:
        console.print_json(report)
    else:
        render.export_c(report, str(chosen.path(f"export-c/{report.target}")))
