"""OpenOCD, 0.12 or newer. It cannot list probes: the ST-LINKs on the USB are."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from snapcli import toolchain
from snapcli.flashers.flasher import FLASH_START, Probe, compare, puzzling
from snapcli.flashers.part import IDCODE_AT, Part, part_of
from snapcli.flashers.stlinks import stlinks
from snapcli.targets import Flashing


@dataclass(frozen=True)
class OpenOcd:
    board: Flashing
    name: ClassVar[str] = "openocd"
    option: ClassVar[str] = "--probe"
    proof: ClassVar[str] = "read back"

    def missing(self) -> str | None:
        return toolchain.remedy(toolchain.OPENOCD)

    def find(self) -> list[Probe]:
        # It becomes part of a script of OpenOCD's.
        known = (link for link in stlinks() if link.serial.isalnum())
        return [Probe(link.serial, f"ST-LINK at {link.port}") for link in known]

    def identify(self, probe: Probe) -> Part:
        said = self._run(
            probe,
            "init",
            f'echo "snap idcode [read_memory {IDCODE_AT:#x} 32 1]"',
            f'echo "snap flash_kb [read_memory {self.board.flash_size_at:#x} 16 1]"',
            "shutdown",
            timeout_s=toolchain.LOOK_S,
        )
        registers = dict(re.findall(r"^snap (\w+) (0x[0-9a-fA-F]+|\d+)\s*$", said, re.MULTILINE))
        try:
            return part_of(int(registers["idcode"], 0), int(registers["flash_kb"], 0))
        except KeyError:
            raise puzzling("OpenOCD", said) from None

    def write(self, probe: Probe, image: Path) -> None:
        self._run(probe, f"program {image.name} {FLASH_START:#x} reset exit", cwd=image.parent)

    def verify(self, probe: Probe, image: Path) -> bool:
        with tempfile.TemporaryDirectory(prefix="snap-") as folder:
            dump = f"dump_image flash.bin {FLASH_START:#x} {image.stat().st_size}"
            self._run(probe, "init", dump, "shutdown", cwd=Path(folder))
            compare(image, Path(folder, "flash.bin"))
        return True

    def _run(
        self,
        probe: Probe,
        *commands: str,
        cwd: Path | None = None,
        timeout_s: float | None = None,
    ) -> str:
        arguments = ["-f", self.board.openocd, "-c", f"adapter serial {probe.serial}"]
        for command in commands:
            arguments += ["-c", command]
        return toolchain.run_flasher([toolchain.OPENOCD, *arguments], timeout_s, cwd)
