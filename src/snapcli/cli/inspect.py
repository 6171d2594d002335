"""snap inspect"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.options import AsJson
from snapcli.cli.render import size

if TYPE_CHECKING:
    from snapcli.stages.inspect import InspectReport, TensorView

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
    console.print_json(report) if json else show(report)


def show(report: "InspectReport") -> None:
    """Blocks are branches, layers their leaves; columns line up over the whole tree."""
    rows = [layer for block in report.blocks for layer in block]
    before: dict[str, str] = {}
    previous = report.inputs[0].name if report.inputs else ""
    for layer in rows:
        # Only what does not simply follow the layer above says where it comes from.
        before[layer.name] = "" if layer.sources == (previous,) else ", ".join(layer.sources)
        previous = layer.name
    cells = [
        (
            f"{layer.number}",
            layer.name,
            layer.operator,
            _shape(layer.shape),
            f"{layer.macs:,} MAC",
            size(layer.constant_bytes),
            f"-> {size(layer.output_bytes)}",
            f"alive {layer.alive[0]}-{layer.alive[1]}",
            f"from {before[layer.name]}" if before[layer.name] else "",
        )
        for layer in rows
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
    right = {0, 4, 5}
    lines = {
        layer.name: "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for layer, row in zip(rows, cells, strict=True)
    }
    branches: list[tuple[str, list[str]]] = [
        (f"input {_tensor(tensor)}", []) for tensor in report.inputs
    ]
    for number, block in enumerate(report.blocks, start=1):
        tap = next((layer.name for layer in block if layer.tap), None)
        title = f"block {number}, tap candidate: {tap}" if tap else "classifier"
        branches.append((title, [lines[layer.name] for layer in block]))
    branches += [(f"output {_tensor(tensor)}", []) for tensor in report.outputs]
    title = (
        f"{report.source}: {report.macs:,} MAC, constants {size(report.constant_bytes)}, "
        f"arena {size(report.arena_bytes)} (largest live set {size(report.live_bytes)})"
    )
    console.tree(title, branches)
    console.say(
        "MAC: additions count where nothing is multiplied. B: constants -> output. alive: from the "
        "layer that writes the output to the last that reads it."
    )


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _tensor(view: "TensorView") -> str:
    real = f", {view.scale:.6g} * (q - ({view.zero_point}))" if view.dtype == "int8" else ""
    return f"{view.name} {_shape(view.shape)} {view.dtype}{real}"
