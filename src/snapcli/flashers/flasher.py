"""The interface of every flasher."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from snapcli.errors import CheckError, DeviceError
from snapcli.flashers.part import Part

FLASH_START = 0x0800_0000  # of every STM32


@dataclass(frozen=True)
class Probe:
    """A way to one board. serial: what names it, of a drive its folder; about: for people."""

    serial: str
    about: str


class Flasher(Protocol):
    """name: after --flasher; option: what chooses one of its probes; proof: what verify()
    rests on, for people."""

    name: ClassVar[str]
    option: ClassVar[str]
    proof: ClassVar[str]

    def missing(self) -> str | None:
        """The command that installs it; None: it is there."""

    def find(self) -> list[Probe]:
        """The probes that are attached, whatever board they hold."""

    def identify(self, probe: Probe) -> Part:
        """The part that the probe holds. Writes nothing."""

    def write(self, probe: Probe, image: Path) -> None:
        """Puts a .bin at the start of the flash and starts it."""

    def verify(self, probe: Probe, image: Path) -> bool:
        """CheckError if the flash holds something else; False if there is no telling."""


def compare(image: Path, flash: Path) -> None:
    """The bytes of the image against the file of those that were read back."""
    wanted = image.read_bytes()
    content = flash.read_bytes() if flash.is_file() else b""
    if content == wanted:
        return
    at = next((i for i, (a, b) in enumerate(zip(wanted, content, strict=False)) if a != b), None)
    if at is None:
        what = f"{len(content):,} bytes were read back, not {len(wanted):,}"
    else:
        what = (
            f"the byte at 0x{FLASH_START + at:08x} is 0x{content[at]:02x}, not 0x{wanted[at]:02x}"
        )
    raise CheckError(
        f"the flash differs from the image: {what}", "Flash again; if it stays, the flash is worn."
    )


def puzzling(tool: str, said: str) -> DeviceError:
    """For an answer without what was asked for."""
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "nothing")
    return DeviceError(
        f"{tool} does not say what part is connected; it says: {last}",
        "Try another one with --flasher, or a newer version.",
    )
