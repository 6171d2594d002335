"""A .mat file of MATLAB 5, looked through before scipy unpacks it."""

import struct
import zlib
from pathlib import Path

from snapcli.limits import DATA_MAX, check_held, check_ratio

_HEADER, _TAG = 128, struct.Struct("<II")
_COMPRESSED = 15
_CHUNK = 1 << 20
_VARIABLES_MAX = 1000


def check_mat(path: Path) -> None:
    """Raises ValueError, or what zlib does, if its variables are larger than they may be; one of
    them is unpacked piece by piece for that, and dropped."""
    packed, total = path.stat().st_size, 0
    check_held(packed, "it", DATA_MAX)
    with path.open("rb") as file:
        file.seek(_HEADER)
        for _ in range(_VARIABLES_MAX + 1):
            tag = file.read(_TAG.size)
            if len(tag) < _TAG.size:
                return
            kind, size = _TAG.unpack(tag)
            if kind != _COMPRESSED:
                total += size
                file.seek(size, 1)
            else:
                stream, left = zlib.decompressobj(), size
                while left and not stream.eof:
                    given = file.read(min(left, _CHUNK))
                    if not given:
                        return  # cut short, of which scipy tells
                    left -= len(given)
                    while given and not stream.eof:
                        total += len(stream.decompress(given, _CHUNK))
                        given = stream.unconsumed_tail
                        check_held(total, "what it unpacks to", DATA_MAX)
                        check_ratio(packed, total)
                file.seek(left, 1)
            check_held(total, "what it unpacks to", DATA_MAX)
    raise ValueError(f"it has more than {_VARIABLES_MAX:,} variables")
