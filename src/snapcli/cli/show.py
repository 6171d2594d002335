"""snap show"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli.options import RUNS, AsJson, RunsDir

EXAMPLES = (
    "snap show",
    "snap show digits-002",
    "snap show runs/digits-001 --json",
)


def show(
    run: Annotated[Path | None, typer.Argument(help="Run directory; the latest.")] = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Show a run: its stages, figures, what is stale."""
    from snapcli.runs import open_run
    from snapcli.stages.show import show as stage

    report = stage(open_run(run, runs_dir))
    if json:
        console.print_json(report)
        return
    rows = [(s.stage, s.status, s.detail) for s in report.states]
    console.table(f"{report.run} ({report.root})", ("stage", "status", "detail"), rows)
    if report.figures:
        console.pairs("figures", list(report.figures.items()))
    if report.next_command:
        console.say(f"Next: {report.next_command}")
