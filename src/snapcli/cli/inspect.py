"""snap inspect"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.options import AsJson

EXAMPLES = (
    "snap inspect kws.tflite",
    "snap inspect kws.tflite --json",
)


def inspect(
    model: Annotated[Path, typer.Argument(help="An int8 .tflite.")],
    json: AsJson = False,
) -> None:
    """Show a model as a tree: shapes, work, bytes, lifetimes, and where it can be tapped."""
    from snapcli.stages.inspect import inspect as stage

    report = stage(model)
    console.print_json(report) if json else render.inspect(report)
