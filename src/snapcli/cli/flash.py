"""snap flash"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, NoWait, RunPath, RunsDir, TargetName

EXAMPLES = (
    "snap flash",
    "snap flash --target qemu-m7",
    "snap flash --target small-mcu",
    "snap flash --target small-mcu --flasher openocd --probe 066BFF303435554157121019",
    "snap flash --target small-mcu --drive /media/me/NODE_L432KC",
    "snap flash --target big-mcu --build-only",
    "snap flash --target cortex-m33",
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
        typer.Option(help="Serial port on which to ask the new firmware; otherwise the probe's."),
    ] = None,
    build_only: Annotated[
        bool, typer.Option("--build-only", help="Build the images only; write to no board.")
    ] = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Build the firmware; boot it in the emulator or write it to the board.

    For a core without a board, a library for firmware of your own.
    """
    from snapcli.flashers import Wish, flashers_for
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.flash import flash as stage
    from snapcli.stages.library import library
    from snapcli.targets import load_target

    chosen = opened(run, runs_dir, no_wait)
    wanted = load_target(target or run_recipe(chosen).export_c.target)
    wish = None if build_only else Wish(flasher, probe, drive, port)
    if wish and not wanted.port:
        flashers_for(wanted, wish)  # refuses what names a probe
    with console.progress("flash"):
        built = stage(chosen, wanted.name, wish) if wanted.port else library(chosen, wanted)
    if json:
        console.print_json(built)
    elif wanted.port:
        render.flash(built)
    else:
        render.library(built)
