"""build/<target>/size.json: the images that were built, their sizes, and how a board got them."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.stored import read_as

WITH_HEADS, WITHOUT_HEADS = "firmware", "baseline"
SIZE_FILE = "size.json"


@dataclass(frozen=True)
class ImageSize:
    """Bytes, from the ELF and the map file; ram includes the reserved stack, stack is the most
    that any path of calls takes of it, 0 where it is not known."""

    flash_bytes: int
    ram_bytes: int
    stack_bytes: int = 0


@dataclass(frozen=True)
class ImageSizes:
    """Of a FlashReport, what is compared."""

    size: ImageSize


@dataclass(frozen=True)
class FlashReport:
    """booted: the image answered and passed its self-test, in the emulator or on the board.

    flasher, probe, part_found, written_bytes: None unless a board was written. verified: how the
    flash is known to hold the image. port: over which the firmware was asked. evidence: how many
    of the most surprising inputs the image keeps for a host to read back.
    """

    run: str
    target: str
    part: str
    image: str
    size: ImageSize
    size_without_heads: ImageSize
    flash_limit_bytes: int
    ram_limit_bytes: int
    stack_limit_bytes: int
    image_crc: int
    booted: bool
    flasher: str | None = None
    probe: str | None = None
    part_found: str | None = None
    written_bytes: int | None = None
    verified: tuple[str, ...] = ()
    port: str | None = None
    notes: tuple[str, ...] = ()
    evidence: int = 0


def flash_report(folder: Path) -> FlashReport:
    """folder: build/<target>/ of a run."""
    return read_as(folder / SIZE_FILE, FlashReport)


def image_size(folder: Path) -> ImageSize:
    """Of the image with heads; folder: build/<target>/ of a run."""
    return read_as(folder / SIZE_FILE, ImageSizes).size
