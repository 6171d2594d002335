"""The flatbuffer reader on bytes written by hand: fields, defaults, and every way out of bounds."""

import struct
from collections.abc import Callable

import numpy as np
import pytest

from snapcli.graph.flatbuffer import BUDGET_LEAST, Buffer, Table


def u16(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def one_table(entries: list[int], fields: bytes, after: bytes = b"") -> Table:
    """A table of those fields; entries are their offsets in it, 0 for one left out."""
    vtable = u16(4 + 2 * len(entries), 4 + len(fields), *entries)
    content = vtable + struct.pack("<i", len(vtable)) + fields + after
    return Table(Buffer(content), len(vtable))


def test_scalars_and_defaults() -> None:
    table = one_table([4, 0, 8], struct.pack("<if", -7, 0.5))
    assert table.scalar(0, "int32", 3) == -7
    assert table.scalar(1, "int32", 3) == 3
    assert table.scalar(2, "float32", 0.0) == 0.5
    assert table.scalar(3, "bool", 0) == 0
    assert one_table([4], b"\1").scalar(0, "bool", 0) is True


def test_vectors() -> None:
    table = one_table([4], u32(4), u32(3) + struct.pack("<3i", 5, -6, 7))
    values = table.vector(0, "int32")
    assert values.tolist() == [5, -6, 7]
    assert not values.flags.owndata
    assert table.vector(1, "int32").tolist() == []
    assert table.tables(1) == []
    assert table.table(1) is None


def test_tables_of_tables() -> None:
    inner = u16(6, 8, 4) + b"\0\0" + struct.pack("<ii", 8, 42)
    table = one_table([4], u32(12), inner)
    found = table.table(0)
    assert found is not None
    assert found.scalar(0, "int32", 0) == 42
    # A vector of two references to the same table.
    start = u32(2, 16, 12)
    table = one_table([4], u32(4), start + inner)
    assert [t.scalar(0, "int32", 0) for t in table.tables(0)] == [42, 42]


@pytest.mark.parametrize(
    "table",
    [
        Table(Buffer(b""), 0),
        Table(Buffer(bytes(8)), 8),
        Table(Buffer(bytes(8)), -4),
        Table(Buffer(struct.pack("<i", 4) + bytes(8)), 0),  # vtable in front of the file
        Table(Buffer(struct.pack("<i", -100) + bytes(8)), 0),  # and behind it
        one_table([200], u32(1)),  # field behind the file
        one_table([4], u32(2**32 - 1)),  # vector behind the file
        one_table([4], u32(4), u32(2**32 - 1)),  # vector without an end
        one_table([4], u32(4), u32(2) + bytes(7)),  # vector that ends too early
    ],
)
def test_what_leads_out_of_the_file_is_an_error(table: Table) -> None:
    with pytest.raises(ValueError, match=r"leads out|too often"):
        table.vector(0, "int32")
    with pytest.raises(ValueError, match=r"leads out|too often"):
        table.tables(0)


def test_a_number_or_a_table_that_leads_out_of_the_file_is_an_error() -> None:
    table = one_table([4], u32(2**31))
    with pytest.raises(ValueError, match="leads out"):
        table.scalar(0, "int64", 0)
    inner = table.table(0)
    assert inner is not None
    with pytest.raises(ValueError, match="leads out"):
        inner.scalar(0, "int8", 0)


def until_refused(access: Callable[[], object]) -> int:
    """How often it can be done."""
    for count in range(1_000_000):
        try:
            access()
        except ValueError:
            return count
    return 1_000_000


def test_references_to_the_same_bytes_are_limited() -> None:
    """A short file cannot ask for long work."""
    count = 100_000
    table = one_table([4], u32(4), u32(count) + bytes(4 * count))
    assert until_refused(lambda: table.vector(0, "int32")) == 64  # 16 per byte, four bytes each
    table = one_table([4], u32(1))
    size = len(table.buffer.content)
    assert until_refused(lambda: table.scalar(0, "int32", 0)) == BUDGET_LEAST + 16 * size


def test_values_are_not_copied() -> None:
    content = bytes(range(64))
    values = Buffer(content).array(3, 5, "int8")
    assert np.shares_memory(values, np.frombuffer(content, np.int8))
