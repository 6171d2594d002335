"""snap flash"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.options import RUNS, AsJson, RunPath, RunsDir, TargetName

EXAMPLES = (
    "snap flash",
    "snap flash --target qemu-m7",
    "snap flash --target small-mcu",
    "snap flash --target small-mcu --flasher openocd --probe 066BFF303435554157121019",
    "snap flash --target small-mcu --drive /media/me/NODE_L432KC",
    "snap flash --target big-mcu --build-only",
)


def flash(
    target: TargetName = None,
    flasher: Annotated[
        str, typer.Option(help="auto, pyocd, openocd, st-flash or drive; auto tries this order.")
    ] = "auto",
    probe: Annotated[
        str | None, typer.Option(help="Serial number of the probe, if there are several.")
    ] = None,
    drive: Annotated[
        Path | None, typer.Option(help="Folder where the board's USB drive is mounted.")
    ] = None,
    port: Annotated[
        str | None,
        typer.Option(help="Serial port, to ask the firmware that was written; that of the probe."),
    ] = None,
    build_only: Annotated[
        bool, typer.Option("--build-only", help="Build the images and write them to no board.")
    ] = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Build the firmware; boot it in the emulator or write it to the board."""
    from snapcli.flashers import Wish
    from snapcli.runs import open_run
    from snapcli.stages.flash import flash as stage
    from snapcli.stages.recipe import run_recipe

    chosen = open_run(run, runs_dir)
    wish = None if build_only else Wish(flasher, probe, drive, port)
    with console.progress("flash"):
        report = stage(chosen, target or run_recipe(chosen).export_c.target, wish)
    console.print_json(report) if json else render.flash(report)
