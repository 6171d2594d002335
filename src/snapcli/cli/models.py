"""snap models"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import about
from snapcli.cli.options import AsJson
from snapcli.cli.render import size
from snapcli.config import ExportOptions, override

if TYPE_CHECKING:
    from snapcli.stages.models import ModelView

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
    console.print_json(measured) if json else show(measured)


def show(views: "Sequence[ModelView]") -> None:
    rows = []
    for model in views:
        flash = [
            f"{size(cost.flash_bytes)}{'' if cost.fits else ' (too large)'}"
            for cost in model.targets.values()
        ]
        rows.append(
            (
                model.name,
                f"{' x '.join(map(str, model.input_shape))} -> {model.classes}",
                f"{model.macs / 1e6:.2f} M",
                f"{model.parameters:,}",
                size(model.arena_bytes),
                *flash,
                ", ".join(f"{letter} {block}" for letter, block in model.letters.items()),
            )
        )
    names = [f"flash, {name}" for name in views[0].targets]
    columns = ("backbone", "input -> classes", "MAC", "parameters", "arena", *names, "taps")
    console.table("backbones, int8, without heads", columns, rows)
