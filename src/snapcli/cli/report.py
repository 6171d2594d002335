"""snap report"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli.options import RUNS, AsJson, RunPath, RunsDir

EXAMPLES = (
    "snap report",
    "snap report --run digits-002",
    "snap report --output page.html",
)


def report(
    run: RunPath = None,
    output: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write it there; else report/index.html of the run."),
    ] = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Write all that a run holds as one page of HTML."""
    from snapcli.runs import open_run
    from snapcli.stages.report import report as stage

    found = stage(open_run(run, runs_dir), output)
    if json:
        console.print_json(found)
        return
    for words in found.missing.values():
        console.note(words)
    console.say(found.page)
