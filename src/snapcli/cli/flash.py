"""snap flash"""

from snapcli import console
from snapcli.cli import render
from snapcli.cli.options import RUNS, AsJson, RunPath, RunsDir, TargetName

EXAMPLES = (
    "snap flash",
    "snap flash --target qemu-m7",
)


def flash(
    target: TargetName = None,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Build the firmware; prove in the emulator that it boots."""
    from snapcli.runs import open_run
    from snapcli.stages.flash import flash as stage
    from snapcli.stages.recipe import run_recipe

    chosen = open_run(run, runs_dir)
    with console.progress("flash"):
        report = stage(chosen, target or run_recipe(chosen).export_c.target)
    console.print_json(report) if json else render.flash(report)
