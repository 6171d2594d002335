"""snap bench"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.options import RUNS, AsJson, RunPath, RunsDir, TargetName
from snapcli.config import override

EXAMPLES = (
    "snap bench",
    "snap bench --inputs 1000 --json",
    "snap bench --port /dev/ttyACM0",
)


def bench(
    target: TargetName = None,
    port: Annotated[
        str | None, typer.Option(help="Serial port of a board; without it the emulator runs.")
    ] = None,
    inputs: Annotated[int | None, typer.Option(help="Inferences to time and to check.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Inferences before the timed ones.")] = None,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Time the firmware, check its answers bit for bit."""
    from snapcli.runs import open_run
    from snapcli.stages.bench import bench as stage
    from snapcli.stages.recipe import run_recipe

    chosen = open_run(run, runs_dir)
    options = override(run_recipe(chosen).bench, inputs=inputs, warmup=warmup)
    with console.progress("bench") as on_progress:
        report = stage(chosen, target, options, port, on_progress)
    console.print_json(report) if json else render.bench(report)
