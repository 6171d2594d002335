"""How much a file from elsewhere may ask for, told before any of it is unpacked or held.

A file of a kilobyte can claim to hold a terabyte. What is held in memory at once has a limit of
its own; what is unpacked to disk, piece by piece, may grow as the archive does.
"""

from collections.abc import Sequence
from math import prod

MIB = 1 << 20
# Of one array, image, member or weight file in memory: far above what a microcontroller holds.
HELD_MAX = 256 * MIB
# Of a data set that is held as a whole: those that are published have up to 200 MB.
DATA_MAX = 1024 * MIB
# Of a configuration or a report.
TEXT_MAX = 16 * MIB
MEMBERS_MAX = 1_000_000
# Deflate packs zeros to a thousandth; what people publish, to a tenth.
RATIO_MAX = 200
# Below this an archive may be packed as well as it likes.
_RATIO_FREE = 64 * MIB


class TooLargeError(ValueError):
    """Says what is too large; the reader says in which file."""


def check_held(size: int, what: str = "it", limit: int = HELD_MAX) -> None:
    """size in bytes, of what is about to be in memory."""
    if size > limit:
        raise TooLargeError(f"{what} has {size >> 20:,} MiB; at most {limit >> 20} are read")


def check_shape(
    shape: Sequence[int], itemsize: int, what: str = "it", limit: int = HELD_MAX
) -> None:
    check_held(prod(int(n) for n in shape) * max(itemsize, 1), what, limit)


def check_members(count: int) -> None:
    if count > MEMBERS_MAX:
        raise TooLargeError(f"it has {count:,} members; at most {MEMBERS_MAX:,} are read")


def check_ratio(packed: int, unpacked: int) -> None:
    """Of an archive whose members go to disk one after the other."""
    if unpacked > max(packed * RATIO_MAX, _RATIO_FREE):
        raise TooLargeError(f"{packed >> 10:,} KiB would become {unpacked >> 20:,} MiB")
