"""Flatbuffers, every access checked: whatever a damaged file says, it ends in a ValueError.

Offsets only lead forwards, but many may lead to the same place. So all that is read counts
against a budget, and the work stays proportional to the file's size.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BUDGET_PER_BYTE = 16  # elements; a file needs about two, and one more per use of shared weights
BUDGET_LEAST = 1 << 16
TABLES_MAX = 1 << 16  # in one vector

_U16, _I32, _U32 = struct.Struct("<H"), struct.Struct("<i"), struct.Struct("<I")


class Buffer:
    """The bytes of a file, and how many elements may still be read from it."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.budget = BUDGET_PER_BYTE * len(content) + BUDGET_LEAST

    def spend(self, elements: int) -> None:
        self.budget -= elements
        if self.budget < 0:
            raise ValueError("its parts are referred to too often")

    def number(self, layout: struct.Struct, at: int) -> int:
        self.check(at, layout.size)
        return int(layout.unpack_from(self.content, at)[0])

    def array(self, at: int, count: int, dtype: str) -> NDArray:
        """[count], without a copy."""
        kind = np.dtype(dtype).newbyteorder("<")
        self.check(at, count * kind.itemsize)
        return np.frombuffer(self.content, kind, count, at)

    def check(self, at: int, size: int) -> None:
        if not 0 <= at <= len(self.content) - size:
            raise ValueError("an offset leads out of it")

    def root(self) -> "Table":
        return Table(self, self.number(_U32, 0))


@dataclass(frozen=True)
class Table:
    """A table at a position of a buffer; its fields by their number in the schema."""

    buffer: Buffer
    at: int

    def scalar(self, field: int, dtype: str, default: float) -> int | float | bool:
        place = self.place(field)
        return default if place is None else self.buffer.array(place, 1, dtype)[0].item()

    def table(self, field: int) -> "Table | None":
        place = self.place(field)
        return None if place is None else Table(self.buffer, self._target(place))

    def tables(self, field: int) -> list["Table"]:
        start, count = self._vector(field)
        self.buffer.check(start, 4 * count)
        if count > TABLES_MAX:
            raise ValueError(f"it has a vector of {count} tables")
        return [Table(self.buffer, self._target(start + 4 * k)) for k in range(count)]

    def vector(self, field: int, dtype: str) -> NDArray:
        """[count] without a copy; empty where the field is left out."""
        start, count = self._vector(field)
        return self.buffer.array(start, count, dtype)

    def place(self, field: int) -> int | None:
        """Where the field is, None where the file leaves it out."""
        self.buffer.spend(1)
        vtable = self.at - self.buffer.number(_I32, self.at)
        entry = 4 + 2 * field
        if entry + 2 > self.buffer.number(_U16, vtable):
            return None
        offset = self.buffer.number(_U16, vtable + entry)
        return self.at + offset if offset else None

    def _vector(self, field: int) -> tuple[int, int]:
        """(position of the first element, how many)"""
        place = self.place(field)
        if place is None:
            return 0, 0
        start = self._target(place)
        count = self.buffer.number(_U32, start)
        self.buffer.spend(count)
        return start + 4, count

    def _target(self, place: int) -> int:
        return place + self.buffer.number(_U32, place)
