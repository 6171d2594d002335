"""snap flash"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, NoWait, RunPath, RunsDir, TargetName
from snapcli.cli.render import notes, plural, size

if TYPE_CHECKING:
    from snapcli.results.flash import FlashReport

EXAMPLES = (
    "snap flash",
    "snap flash --target qemu-m7",
    "snap flash --target small-mcu",
    "snap flash --target small-mcu --flasher openocd --probe 066BFF303435554157121019",
    "snap flash --target small-mcu --drive /media/me/NODE_L432KC",
    "snap flash --target big-mcu --build-only",
    "snap flash --target cortex-m33",
    "snap flash --target small-mcu --evidence 8",
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
    evidence: Annotated[
        int,
        typer.Option(
            min=0,
            max=64,
            help="Keep so many of the most surprising inputs in RAM: snap monitor --collect.",
        ),
    ] = 0,
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
        if wanted.port:
            built = stage(chosen, wanted.name, wish, evidence)
        else:
            built = library(chosen, wanted, evidence)
    if json:
        console.print_json(built)
    elif wanted.port:
        show(built)
    else:
        show_library(built)


def show(report: "FlashReport") -> None:
    rows = [
        (
            "flash",
            size(report.size.flash_bytes),
            size(report.size_without_heads.flash_bytes),
            size(report.flash_limit_bytes),
        ),
        (
            "RAM, stack included",
            size(report.size.ram_bytes),
            size(report.size_without_heads.ram_bytes),
            size(report.ram_limit_bytes),
        ),
        (
            "stack, at most",
            size(report.size.stack_bytes),
            size(report.size_without_heads.stack_bytes),
            size(report.stack_limit_bytes),
        ),
    ]
    console.table(
        f"flash: {report.run} for {report.target} ({report.part})",
        ("", "with monitor", "without", "limit"),
        rows,
    )
    if report.evidence:
        kept = plural(report.evidence, "input")
        console.say(f"Keeps the most surprising {kept} of a stream: snap monitor --collect")
    if report.flasher:
        console.pairs(
            f"written to {report.probe} with {report.flasher}",
            [
                ("part", report.part_found or ""),
                ("image", f"{size(report.written_bytes or 0)}, CRC-32 {report.image_crc:08x}"),
                ("verified", ", ".join(report.verified)),
            ],
        )
        notes(report.notes)
        if report.booted:
            console.say(f"The board answers at {report.port} and passed its self-test.")
    elif report.booted:
        console.say("Booted in the emulator and passed its self-test.")
    else:
        console.say(f"Built {report.image}; written to no board.")


def show_library(report: "FlashReport") -> None:
    with_, without = report.size, report.size_without_heads
    console.table(
        f"library: {report.run} for {report.target}, linked without a port",
        ("", "with monitor", "without"),
        [
            ("flash", size(with_.flash_bytes), size(without.flash_bytes)),
            ("RAM without stack", size(with_.ram_bytes), size(without.ram_bytes)),
        ],
    )
    console.say(f"Built {report.image}; its headers are in include/ beside it.")
    console.say(
        "Write port_board, port_uart_poll(), port_uart_write() and port_counter() of port.h, call"
        " app_run(), and link it: docs/porting.md."
    )
