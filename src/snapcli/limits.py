"""How much a file from elsewhere may ask for, checked before any of it is unpacked or held.

A file of a kilobyte can claim to hold a terabyte. What is held in memory at once has a limit of
its own; what is unpacked to disk, piece by piece, may grow as the archive does.
"""

import zlib
from collections.abc import Sequence
from math import prod
from pathlib import Path

MIB = 1 << 20
# Of one array, image, member or weight file in memory: far above what a microcontroller holds.
HELD_MAX = 256 * MIB
# Of a data set that is held as a whole: those that are published have up to 200 MB.
DATA_MAX = 1024 * MIB
# Of a configuration or a report.
TEXT_MAX = 16 * MIB
# Of the published archives the largest has 121,000.
MEMBERS_MAX = 200_000
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


def read_bytes(path: Path, limit: int = HELD_MAX) -> bytes:
    """The whole file, if it is no larger; also where its size is not known before."""
    check_held(path.stat().st_size, "it", limit)
    with path.open("rb") as file:
        content = file.read(limit + 1)
    check_held(len(content), "it", limit)
    return content


def unpacked(content: bytes, limit: int = HELD_MAX) -> bytes:
    """What gzip packed; raises what zlib does for a damaged one."""
    most = min(limit, max(len(content) * RATIO_MAX, _RATIO_FREE))
    parts, size = [], 0
    while content:
        member = zlib.decompressobj(wbits=31)
        part = member.decompress(content, most - size + 1)
        size += len(part)
        check_held(size, "what it unpacks to", most)
        if not member.eof:
            raise EOFError("it is cut short")
        parts.append(part)
        # Another member may follow, or the zeros of a block that was filled.
        content = member.unused_data.lstrip(b"\0")
    return b"".join(parts)
