"""CRC-32 as in zlib <-> snapuq_crc32.c: of many rows of bytes side by side."""

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = np.uint32(0xEDB88320)


def _table() -> NDArray[np.uint32]:
    """[256]: the remainder of each value of a byte."""
    remainder = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        remainder = np.bitwise_xor(remainder >> 1, _POLYNOMIAL * (remainder & 1))
    return remainder


_TABLE = _table()


def crc32(rows: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """[n, bytes] -> [n]. Works byte after byte on all rows: a few thousand at once are fastest."""
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(rows.T):
        crc = _TABLE[(crc ^ column) & 255] ^ (crc >> 8)
    return ~crc
