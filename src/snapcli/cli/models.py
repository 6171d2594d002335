"""snap models"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.flags import about
from snapcli.cli.options import AsJson
from snapcli.config import ExportOptions, override

EXAMPLES = (
    "snap models",
    "snap models resnet8 dscnn --json",
)


def models(
    names: Annotated[list[str] | None, typer.Argument(help="Backbones; otherwise all.")] = None,
    kernels: Annotated[
        str, typer.Option(help=about(ExportOptions, "kernels"))
    ] = ExportOptions.kernels,
    json: AsJson = False,
) -> None:
    """Show what every backbone costs, from the compiler."""
    from snapcli.stages.models import models as stage

    with console.progress("models") as on_progress:
        measured = stage(names or (), override(ExportOptions(), kernels=kernels), on_progress)
    console.print_json(measured) if json else render.models(measured)
