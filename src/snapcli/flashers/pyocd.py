"""pyOCD, the Python package, as a program of its own: its libraries may crash or hang."""

import importlib.util
import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from snapcli import toolchain
from snapcli.assets import install_command
from snapcli.errors import DeviceError
from snapcli.flashers.flasher import FLASH_START, Probe, compare, puzzling
from snapcli.flashers.part import IDCODE_AT, Part, part_of
from snapcli.targets import Flashing

_PYOCD = (sys.executable, "-m", "pyocd")


@dataclass(frozen=True)
class PyOcd:
    board: Flashing
    name: ClassVar[str] = "pyocd"
    option: ClassVar[str] = "--probe"
    proof: ClassVar[str] = "read back"

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("pyocd") else install_command("[flash]")

    def find(self) -> list[Probe]:
        said = toolchain.run_flasher([*_PYOCD, "json", "--probes"], toolchain.LOOK_S)
        listing = _first_object(said)
        if listing.get("status") != 0:
            raise DeviceError(
                f"pyOCD cannot list probes: {listing.get('error', 'it does not say why')}",
                "Try: snap doctor",
            )
        return [Probe(board["unique_id"], board["info"]) for board in listing["boards"]]

    def identify(self, probe: Probe) -> Part:
        size_at = self.board.flash_size_at
        commands = ("-c", f"read32 {IDCODE_AT:#x}", "-c", f"read16 {size_at:#x}")
        said = self._run("cmd", probe, *commands, timeout_s=toolchain.LOOK_S)
        registers = {
            int(address, 16): int(value, 16)
            for address, value in re.findall(r"^([0-9a-f]{8}):\s+([0-9a-f]+)\b", said, re.MULTILINE)
        }
        try:
            return part_of(registers[IDCODE_AT], registers[size_at])
        except KeyError:
            raise puzzling("pyOCD", said) from None

    def write(self, probe: Probe, image: Path) -> None:
        where = ("--erase", "sector", "--format", "bin", "--base-address", f"{FLASH_START:#x}")
        self._run("load", probe, *where, image.name, cwd=image.parent)

    def verify(self, probe: Probe, image: Path) -> bool:
        with tempfile.TemporaryDirectory(prefix="snap-") as folder:
            save = f"savemem {FLASH_START:#x} {image.stat().st_size} flash.bin"
            self._run("cmd", probe, "-c", save, cwd=Path(folder))
            compare(image, Path(folder, "flash.bin"))
        return True

    def _run(
        self,
        command: str,
        probe: Probe,
        *arguments: str,
        cwd: Path | None = None,
        timeout_s: float | None = None,
    ) -> str:
        options = ("--no-wait", "--uid", probe.serial, "--target", self.board.pyocd)
        return toolchain.run_flasher([*_PYOCD, command, *options, *arguments], timeout_s, cwd)


def _first_object(said: str) -> dict[str, Any]:
    """The JSON in what pyOCD printed, between warnings of Python's."""
    try:
        value, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
        return dict(value)
    except ValueError:
        raise puzzling("pyOCD", said) from None
