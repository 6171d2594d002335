"""Many files: each in its place, broken ones past, once."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from snapcli.data.dataset import Raw
from snapcli.data.files.reading import Reading, broken_note, listing, read_all
from snapcli.errors import ArtifactError

COUNT = 30


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Files that hold their number."""
    (tmp_path / "files").mkdir()
    found = [tmp_path / "files" / f"{i:03d}.txt" for i in range(COUNT)]
    for i, path in enumerate(found):
        path.write_text(str(i))
    return found


@dataclass
class Reader:
    """Reads [2, 3] of a file's number; everything else is broken."""

    dtype: type = np.int16
    asked: list[Path] = field(default_factory=list)

    def __call__(self, path: Path) -> Raw:
        self.asked.append(path)
        text = path.read_text()
        if not text.isdigit():
            raise ArtifactError(f"cannot read {path}: no number")
        return np.full((2, 3), int(text), self.dtype)


def read(
    paths: list[Path],
    reader: Callable[[Path], Raw],
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
    dtype: type = np.int16,
) -> Reading:
    identity = {"listing": listing(paths, paths[0].parent)} if paths else {"listing": ""}
    return read_all(paths, reader, (2, 3), dtype, identity, on_progress)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_every_file_is_in_its_place(paths: list[Path], dtype: type) -> None:
    reader = Reader(dtype)
    found = read(paths, reader, dtype=dtype)
    assert (found.x.shape, found.x.dtype) == ((COUNT, 2, 3), dtype)
    np.testing.assert_array_equal(found.x, np.arange(COUNT)[:, None, None] * np.ones((2, 3)))
    np.testing.assert_array_equal(found.kept, np.arange(COUNT))
    assert found.broken == ()
    assert sorted(reader.asked) == paths


def test_files_are_read_at_the_same_time(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    together = threading.Barrier(3, timeout=60)  # breaks unless three wait for each other

    def meet(path: Path) -> Raw:
        together.wait()
        return np.zeros((2, 3), np.int16)

    assert len(read(paths, meet).x) == COUNT
    assert not together.broken


def test_progress_ends_with_all_of_them(paths: list[Path]) -> None:
    told: list[tuple[int, int, str]] = []
    read(paths, Reader(), lambda *all: told.append(all))
    assert told[-1] == (COUNT, COUNT, "files read")


def test_broken_files_are_left_out_and_told(paths: list[Path]) -> None:
    bad = [0, 7, 29]
    for i in bad:
        paths[i].write_text("broken")
    for _ in range(2):  # from the files, and from the cache
        found = read(paths, Reader())
        assert list(found.kept) == [i for i in range(COUNT) if i not in bad]
        np.testing.assert_array_equal(found.x[:, 0, 0], found.kept)
        assert found.broken == tuple(f"cannot read {paths[i]}: no number" for i in bad)


def test_all_broken_leaves_none(paths: list[Path]) -> None:
    for path in paths:
        path.write_text("broken")
    found = read(paths, Reader())
    assert found.x.shape == (0, 2, 3)
    assert len(found.broken) == COUNT


def test_no_files_give_no_examples() -> None:
    for _ in range(2):
        found = read([], Reader())
        assert found.x.shape == (0, 2, 3)
        assert found.broken == ()


def test_a_second_time_nothing_is_read(paths: list[Path]) -> None:
    read(paths, Reader())
    again = Reader()
    np.testing.assert_array_equal(read(paths, again).x[:, 0, 0], np.arange(COUNT))
    assert again.asked == []


@pytest.mark.parametrize("change", ["size", "time", "name"])
def test_a_changed_file_is_read_again(paths: list[Path], change: str) -> None:
    read(paths, Reader())
    if change == "size":
        stat = paths[3].stat()
        paths[3].write_text("1000")
        os.utime(paths[3], ns=(stat.st_atime_ns, stat.st_mtime_ns))
    elif change == "time":
        stat = paths[3].stat()
        paths[3].write_text("9")
        os.utime(paths[3], ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    else:
        paths[3] = paths[3].rename(paths[3].with_name("003a.txt"))
    again = Reader()
    found = read(paths, again)
    assert sorted(again.asked) == paths
    assert found.x[3, 0, 0] == int(paths[3].read_text())


def test_the_listing_does_not_depend_on_where_the_folder_is(
    paths: list[Path], tmp_path: Path
) -> None:
    before = listing(paths, tmp_path / "files")
    (tmp_path / "files").rename(tmp_path / "moved")
    moved = [tmp_path / "moved" / path.name for path in paths]
    assert listing(moved, tmp_path / "moved") == before


def test_a_damaged_cache_is_read_anew(paths: list[Path], cache: Path) -> None:
    """Broken files stay broken: they never come back as black images."""
    paths[5].write_text("broken")
    read(paths, Reader())
    kept = [p for p in cache.rglob("*") if p.is_file()]
    assert kept
    for path in kept:
        raw = path.read_bytes()
        path.unlink()
        path.write_bytes(raw[: len(raw) // 2])
    found = read(paths, Reader())
    assert 5 not in found.kept
    np.testing.assert_array_equal(found.x[:, 0, 0], found.kept)
    assert len(found.broken) == 1


def test_another_problem_than_a_broken_file_is_not_hidden(paths: list[Path]) -> None:
    def fails(path: Path) -> Raw:
        raise MemoryError

    with pytest.raises(MemoryError):
        read(paths, fails)


def test_broken_files_are_named_and_counted() -> None:
    assert broken_note([], strict=False) == broken_note([], strict=True) == ()
    assert broken_note(["cannot read a"], strict=False) == (
        "cannot read a",
        "1 broken file was skipped",
    )
    assert broken_note(list("abcde"), strict=False) == (*"abcde", "5 broken files were skipped")


def test_with_strict_the_first_broken_file_is_an_error() -> None:
    with pytest.raises(ArtifactError, match=r"^cannot read a$") as caught:
        broken_note(["cannot read a"], strict=True)
    assert caught.value.hint == "Fix or remove it."
    with pytest.raises(ArtifactError, match=r"^a \(and 2 more\)$"):
        broken_note(list("abc"), strict=True)
