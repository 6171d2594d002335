"""Opening a zip file whose table of contents may be a bomb of its own."""

import struct
import zipfile
from typing import IO

from snapcli.limits import MIB, check_held, check_members

# At the end of the file, before a comment: how many entries there are, and the bytes of the table
# that lists them; where that is too much for these fields, a locator before it leads to larger
# ones.
_END, _LOCATOR, _LARGE_END = (
    struct.Struct("<4s4H2IH"),
    struct.Struct("<4sIQI"),
    struct.Struct("<4sQ2H2I4Q"),
)
_COMMENT_MAX = 65535
_TABLE_MAX = 24 * MIB


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """As zipfile.ZipFile, which reads all of the table of contents; raises TooLargeError before
    that for one that is too large."""
    entries, table = _contents(file)
    check_members(entries)
    check_held(table, "its table of contents", _TABLE_MAX)
    file.seek(0)
    return zipfile.ZipFile(file)


def _contents(file: IO[bytes]) -> tuple[int, int]:
    """(entries, bytes of the table); zeros where there is no such record."""
    size = file.seek(0, 2)
    start = file.seek(max(size - _COMMENT_MAX - _END.size, 0))
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if not 0 <= at <= len(tail) - _END.size:
        return 0, 0
    entries, table = _END.unpack_from(tail, at)[4:6]
    before = start + at - _LOCATOR.size
    if before >= 0:
        file.seek(before)
        magic, _, place, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
        if magic == b"PK\6\7" and place <= size - _LARGE_END.size:
            file.seek(place)
            large = _LARGE_END.unpack(file.read(_LARGE_END.size))
            if large[0] == b"PK\6\6":
                return large[7], large[8]
    return entries, table
