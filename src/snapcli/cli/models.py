"""snap models"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.options import AsJson, Kernels

EXAMPLES = (
    "snap models",
    "snap models resnet8 dscnn --json",
)


def models(
    names: Annotated[list[str] | None, typer.Argument(help="Backbones; all.")] = None,
    kernels: Kernels = None,
    json: AsJson = False,
) -> None:
    """Show what every backbone costs, from the compiler."""
    from snapcli.config import ExportOptions, override
    from snapcli.stages.models import models as stage

    with console.progress("models") as on_progress:
        found = stage(names or (), override(ExportOptions(), kernels=kernels), on_progress)
    console.print_json(found) if json else render.models(found)
