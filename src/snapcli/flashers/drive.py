"""The USB drive of an ST-LINK: a .bin that is copied there is written into the flash.

The drive is not a disk. When it has the file it writes the flash, comes back as a new drive
without that file, and leaves FAIL.TXT there if something went wrong.
"""

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from snapcli.errors import DeviceError
from snapcli.flashers.flasher import Probe
from snapcli.flashers.part import Part
from snapcli.targets import Flashing, load_target, target_names

DRIVE_DIRS = "SNAP_DRIVE_DIRS"
_MOUNTS = ("/media/*/*", "/run/media/*/*", "/Volumes/*")
_OWN_FILES = ("DETAILS.TXT", "MBED.HTM")
_FAILURE = "FAIL.TXT"
BACK_S = 30.0  # a full flash takes about half of it
_LOOK_S = 0.1


@dataclass(frozen=True)
class Drive:
    """folder: where it is mounted; None: it is looked for."""

    board: Flashing
    folder: Path | None = None
    name: ClassVar[str] = "drive"
    option: ClassVar[str] = "--drive"
    proof: ClassVar[str] = "no FAIL.TXT"

    def missing(self) -> str | None:
        return None

    def find(self) -> list[Probe]:
        folders = [self.folder] if self.folder else _mounted()
        return [Probe(str(path), path.name) for path in folders if _is_drive(path)]

    def identify(self, probe: Probe) -> Part:
        """By the board's code in MBED.HTM, else by the label."""
        folder = Path(probe.serial)
        code = re.search(r"code=([0-9A-Fa-f]{4})", _text(folder, "MBED.HTM"))
        for name in target_names():
            board = load_target(name).flashing
            if board and (code[1] == board.board_id if code else folder.name == board.drive):
                return Part(board.board, board.dev_id)
        return Part(folder.name + (f", board {code[1]}" if code else ""), None)

    def write(self, probe: Probe, image: Path) -> None:
        folder = Path(probe.serial)
        with suppress(OSError):
            # Of an earlier failure: only what comes now counts.
            (_file(folder, _FAILURE) or folder / _FAILURE).unlink()
        try:
            with (folder / image.name).open("wb") as file:
                file.write(image.read_bytes())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DeviceError(
                f"copying to the drive {folder} failed: {error.strerror}",
                "Plug the board in again.",
            ) from None

    def verify(self, probe: Probe, image: Path) -> bool:
        """Waits for the drive to come back; False if it does not."""
        folder = Path(probe.serial)
        until = time.monotonic() + BACK_S
        while time.monotonic() < until:
            if reason := _text(folder, _FAILURE).strip():
                raise DeviceError(
                    f"the drive says: {reason.splitlines()[0].strip()}",
                    "Check that the board has power and its jumpers are set, then flash again.",
                )
            if _is_drive(folder) and _file(folder, image.name) is None:
                return True
            time.sleep(_LOOK_S)
        return False


def _mounted() -> list[Path]:
    """Folders that may be drives: those of SNAP_DRIVE_DIRS, else where systems mount them."""
    named = os.environ.get(DRIVE_DIRS)
    if named is not None:
        return sorted(path for d in named.split(os.pathsep) if d for path in Path(d).glob("*"))
    return sorted(path for pattern in _MOUNTS for path in Path("/").glob(pattern[1:]))


def _is_drive(folder: Path) -> bool:
    return any(_file(folder, name) for name in _OWN_FILES)


def _file(folder: Path, name: str) -> Path | None:
    """The file of that name; FAT knows no capitals, and a drive may be gone."""
    with suppress(OSError):
        return next((p for p in folder.iterdir() if p.name.upper() == name.upper()), None)
    return None


def _text(folder: Path, name: str) -> str:
    """What the file says; nothing if there is none."""
    with suppress(OSError):
        path = _file(folder, name)
        return path.read_text("latin-1") if path else ""
    return ""
