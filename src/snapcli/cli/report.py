"""snap report"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, NoWait, RunPath, RunsDir

EXAMPLES = (
    "snap report",
    "snap report --run digits-002",
    "snap report --output page.html",
)


def report(
    run: RunPath = None,
    output: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="File to write; otherwise report/index.html of the run."),
    ] = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Write all that a run holds as one page of HTML."""
    from snapcli.stages.report import report as stage

    written = stage(opened(run, runs_dir, no_wait), output)
    if json:
        console.print_json(written)
        return
    for words in written.missing.values():
        console.note(words)
    console.say(written.page)
