"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from snapcli.config.device import TARGET_HELP
from snapcli.runs import DEFAULT_RUNS_DIR

RunsDir = Annotated[
    Path,
    typer.Option("--runs-dir", envvar="SNAP_RUNS_DIR", help="Folder that holds the runs."),
]
RunPath = Annotated[
    Path | None,
    typer.Option(
        "--run", help="Run directory, by path or by name in the runs folder; otherwise the latest."
    ),
]
NoWait = Annotated[
    bool,
    typer.Option("--no-wait", help="Fail at once if another command is at work on the run."),
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code", help="Run Python code that the run names or holds, if you trust it."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TargetName = Annotated[
    str | None,
    typer.Option(help=f"{TARGET_HELP}  [default: the run's recipe]"),
]
ModelFile = Annotated[
    Path | None, typer.Option("--model", help="Any int8 .tflite, instead of a run.")
]
CmsisNn = Annotated[
    Path | None,
    typer.Option("--cmsis-nn", help="Your own copy of CMSIS-NN, instead of the fetched one."),
]
RUNS = Path(DEFAULT_RUNS_DIR)
