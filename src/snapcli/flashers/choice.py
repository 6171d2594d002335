"""Which flasher, which probe."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from snapcli.errors import DeviceError, SnapError, ToolchainError, UsageError, suggestion
from snapcli.flashers.drive import Drive
from snapcli.flashers.flasher import Flasher, Probe
from snapcli.flashers.openocd import OpenOcd
from snapcli.flashers.pyocd import PyOcd
from snapcli.flashers.st_flash import StFlash
from snapcli.targets import Target

AUTO = "auto"
TOOLS = (PyOcd, OpenOcd, StFlash)
# The order in which auto tries them.
FLASHERS = (*(tool.name for tool in TOOLS), Drive.name)


@dataclass(frozen=True)
class Wish:
    """What the user says about the way to the board; nothing: it is found.

    probe: serial number of a probe; drive: folder where the board's drive is mounted;
    port: serial port over which the firmware is asked after writing.
    """

    flasher: str = AUTO
    probe: str | None = None
    drive: Path | None = None
    port: str | None = None


def flashers_for(target: Target, wish: Wish) -> list[Flasher]:
    """What may be tried, in this order. UsageError for wishes that mean nothing together."""
    if wish.flasher not in (AUTO, *FLASHERS):
        raise UsageError(
            f"unknown flasher '{wish.flasher}'", suggestion(wish.flasher, (AUTO, *FLASHERS))
        )
    board = target.flashing
    if board is None:
        if wish != Wish():
            raise UsageError(
                f"{target.name} is not a board: nothing is written", "Leave out what names a probe."
            )
        return []
    if wish.drive and (wish.probe or wish.flasher not in (AUTO, Drive.name)):
        raise UsageError("--drive is the way of another flasher", "Leave the other options out.")
    if wish.probe and wish.flasher == Drive.name:
        raise UsageError("a drive has no serial number", "Name its folder: --drive")
    drive = Drive(board, wish.drive)
    if wish.drive or wish.flasher == Drive.name:
        return [drive]
    tools: list[Flasher] = [tool(board) for tool in TOOLS]
    if wish.flasher != AUTO:
        (chosen,) = (tool for tool in tools if tool.name == wish.flasher)
        if remedy := chosen.missing():
            raise ToolchainError(f"{chosen.name} is not installed", remedy)
        return [chosen]
    there = [tool for tool in tools if tool.missing() is None]
    return there if wish.probe else [*there, drive]


def choose(target: Target, flashers: Sequence[Flasher], wish: Wish) -> tuple[Flasher, Probe]:
    """The first flasher that sees a probe. Several probes are a question, none an error."""
    assert target.flashing
    problem: SnapError | None = None
    others: dict[str, None] = {}
    for flasher in flashers:
        try:
            probes = flasher.find()
        except DeviceError as error:
            problem = problem or error  # another flasher may manage
            continue
        wanted = [p for p in probes if not wish.probe or p.serial.lower() == wish.probe.lower()]
        if len(wanted) > 1:
            raise UsageError(
                f"{len(wanted)} boards are connected: {_listed(wanted)}",
                f"Name one: {flasher.option} {shlex.quote(wanted[0].serial)}",
            )
        if wanted:
            return flasher, wanted[0]
        others |= dict.fromkeys(p.serial for p in probes)
    if others:
        raise UsageError(f"there is no probe {wish.probe}", f"Connected: {', '.join(others)}.")
    if problem:
        raise problem
    if wish.drive:
        raise DeviceError(
            f"{wish.drive} is not a drive of an ST-LINK: it has no DETAILS.TXT",
            "Name the folder where the board's drive is mounted.",
        )
    raise DeviceError(
        f"no probe and no drive of a {target.flashing.board} was found",
        f"Plug the board in (looked with {', '.join(f.name for f in flashers)}), or only build: "
        "--build-only",
    )


def _listed(probes: Sequence[Probe]) -> str:
    return ", ".join(f"{probe.serial} ({probe.about})" for probe in probes)
