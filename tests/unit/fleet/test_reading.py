"""Records from files: what is whole is found wherever it lies, once, and nothing else."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import ArtifactError
from snapcli.fixedpoint import TELEMETRY_BYTES, telemetry_sealed
from snapcli.fleet import reading
from snapcli.fleet.reading import Found, read_records

from .made_fleet import Made

RECORDS = Made(devices=3, days=2, each=2).records(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


def read(folder: Path, *contents: bytes) -> Found:
    paths = []
    for i, content in enumerate(contents):
        paths.append(folder / f"{i}.snpt")
        paths[-1].write_bytes(content)
    return read_records(paths)


def same(found: Found, records: np.ndarray) -> bool:
    return sorted(r.tobytes() for r in found.records) == sorted(r.tobytes() for r in records)


def test_all_of_a_file(folder: Path) -> None:
    found = read(folder, RECORDS.tobytes())
    assert same(found, RECORDS)
    assert (found.files, found.size_bytes) == (1, len(RECORDS) * TELEMETRY_BYTES)
    counts = (found.duplicates, found.damaged, found.other, found.impossible, found.skipped_bytes)
    assert counts == (0, 0, 0, 0, 0)


noise = st.binary(max_size=200) | st.sampled_from(
    [b"SNPT", b"SNPT\1\0", b"SNPTSNPTSNPT", RECORDS[0].tobytes()[:100], RECORDS[0].tobytes()[50:]]
)


@given(st.lists(noise, min_size=13, max_size=13), st.integers(0, 12), st.integers(130, 700))
def test_whole_records_are_found_between_anything(
    folder: Path, between: list[bytes], cut: int, block: int
) -> None:
    """However the bytes are split into files and blocks."""
    parts = [noise + record.tobytes() for noise, record in zip(between, RECORDS, strict=False)]
    parts.append(between[-1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_BLOCK", block)
        found = read(folder, b"".join(parts[:cut]), b"".join(parts[cut:]))
    assert same(found, RECORDS)
    assert found.skipped_bytes == sum(map(len, between))


@given(st.integers(0, 123), st.integers(0, 7))
def test_every_flipped_bit_costs_its_record_and_no_other(folder: Path, at: int, bit: int) -> None:
    content = bytearray(RECORDS.tobytes())
    content[5 * TELEMETRY_BYTES + at] ^= 1 << bit
    found = read(folder, bytes(content))
    assert same(found, np.delete(RECORDS, 5))
    # Without its magic nothing tells that there was one.
    assert found.damaged + found.other == (at >= 4)
    assert found.skipped_bytes == TELEMETRY_BYTES


def test_the_end_is_cut_off(folder: Path) -> None:
    found = read(folder, RECORDS.tobytes()[:-1])
    assert same(found, RECORDS[:-1])
    assert (found.damaged, found.skipped_bytes) == (1, TELEMETRY_BYTES - 1)


@pytest.mark.parametrize("block", [130, 1 << 22])
def test_a_magic_inside_of_a_record_begins_none(
    folder: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_BLOCK", block)
    records = RECORDS.copy()
    records["device"] = int.from_bytes(b"SNPT\1\0\0\0", "little")
    found = read(folder, telemetry_sealed(records).tobytes())
    assert same(found, np.unique(records))
    assert (found.damaged, found.skipped_bytes) == (0, 0)


def test_another_version_is_counted_and_skipped(folder: Path) -> None:
    records = RECORDS.copy()
    records["version"][3:] = 2
    found = read(folder, telemetry_sealed(records).tobytes())
    assert same(found, RECORDS[:3])
    assert (found.other, found.damaged) == (len(RECORDS) - 3, 0)


def test_what_comes_twice_counts_once(folder: Path) -> None:
    content = RECORDS.tobytes()
    found = read(folder, content, content[: 2 * TELEMETRY_BYTES])
    assert same(found, RECORDS)
    assert found.duplicates == 2


def test_the_order_of_files_does_not_matter(folder: Path) -> None:
    one, two = RECORDS[:5].tobytes(), RECORDS[5:][::-1].tobytes()
    assert np.array_equal(read(folder, one, two).records, read(folder, two, one).records)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("abstained", 65535),
        ("foreign", 1001),
        ("alarm_frames", 1001),
        ("frames", 999),
        ("right_q24", (1 << 24) + 1),
        ("uncertainty_sum_q16", (1000 << 16) + 1),
    ],
)
def test_counts_that_contradict_each_other(folder: Path, name: str, value: int) -> None:
    records = RECORDS.copy()
    records[name][7] = value
    found = read(folder, telemetry_sealed(records).tobytes())
    assert same(found, np.delete(RECORDS, 7))
    assert (found.impossible, found.damaged) == (1, 0)


def test_a_folder_is_read_with_all_below_it(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "one.snpt").write_bytes(RECORDS[:6].tobytes())
    (tmp_path / "two.snpt").write_bytes(RECORDS[6:].tobytes())
    (tmp_path / "notes.txt").write_text("not records")
    assert same(read_records([tmp_path]), RECORDS)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.snpt").write_text("hello")
    (tmp_path / "nothing.snpt").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    for name, said in {
        "missing": "is no file and no folder",
        "pipe": "is no file and no folder",
        "empty": "holds no *.snpt file",
        "text.snpt": "no telemetry record",
        "nothing.snpt": "no telemetry record",
    }.items():
        with pytest.raises(ArtifactError, match=said.replace("*", r"\*")) as error:
            read_records([tmp_path / name])
        assert error.value.hint


def test_only_contradictions(folder: Path) -> None:
    records = RECORDS.copy()
    records["frames"] += np.uint16(1)
    with pytest.raises(ArtifactError, match=r"12 records in .* contradict"):
        read(folder, telemetry_sealed(records).tobytes())


def test_more_than_memory_is_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "RECORDS_MAX", 11)
    with pytest.raises(ArtifactError, match="more than 11 records"):
        read(folder, RECORDS.tobytes())
