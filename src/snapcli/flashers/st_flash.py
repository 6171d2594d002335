"""st-flash and st-info of the stlink tools, 1.7 or newer."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from snapcli import toolchain
from snapcli.errors import DeviceError
from snapcli.flashers.flasher import FLASH_START, Probe, compare, puzzling
from snapcli.flashers.part import Part, part_of
from snapcli.targets import Flashing


@dataclass(frozen=True)
class StFlash:
    board: Flashing
    name: ClassVar[str] = "st-flash"
    option: ClassVar[str] = "--probe"
    proof: ClassVar[str] = "read back"

    def missing(self) -> str | None:
        return toolchain.remedy(toolchain.ST_FLASH) or toolchain.remedy(toolchain.ST_INFO)

    def find(self) -> list[Probe]:
        return [Probe(about["serial"], about.get("descr", "ST-LINK")) for about in _probes()]

    def identify(self, probe: Probe) -> Part:
        for about in _probes():
            if about["serial"] == probe.serial:
                try:
                    # Its figure of the RAM is that of one bank: the DEV_ID tells more.
                    return part_of(int(about["chipid"], 16), int(about["flash"].split()[0]) >> 10)
                except (KeyError, ValueError, IndexError):
                    raise puzzling("st-info", str(about)) from None
        raise DeviceError(f"the probe {probe.serial} went away", "Plug the board in again.")

    def write(self, probe: Probe, image: Path) -> None:
        self._run(probe, "write", image.name, f"{FLASH_START:#x}", cwd=image.parent)

    def verify(self, probe: Probe, image: Path) -> bool:
        with tempfile.TemporaryDirectory(prefix="snap-") as folder:
            size = f"{image.stat().st_size:#x}"
            self._run(probe, "read", "flash.bin", f"{FLASH_START:#x}", size, cwd=Path(folder))
            compare(image, Path(folder, "flash.bin"))
        return True

    def _run(self, probe: Probe, *arguments: str, cwd: Path) -> str:
        # --reset also after reading: it halts the core.
        options = ("--serial", probe.serial, "--reset", "--format", "binary")
        return toolchain.run_flasher([toolchain.ST_FLASH, *options, *arguments], None, cwd)


def _probes() -> list[dict[str, str]]:
    """What st-info says of each probe: serial, flash, sram, chipid, descr."""
    said = toolchain.run_flasher([toolchain.ST_INFO, "--probe"], toolchain.LOOK_S)
    probes: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    for name, value in re.findall(r"^\s+([\w-]+):[ \t]+(\S.*?)\s*$", said, re.MULTILINE):
        if name in fields or not probes:
            fields = {}
            probes.append(fields)
        fields[name] = value
    return [about for about in probes if "serial" in about]
