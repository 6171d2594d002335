"""What takes long is computed once, and never half-written."""

import errno
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from snapcli.data.files.features import cached
from snapcli.errors import ArtifactError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def never() -> np.ndarray:
    raise AssertionError("this was computed before")


VALUE = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@given(
    array=hnp.arrays(
        st.sampled_from([np.uint8, np.int16, np.float32, np.bool_]),
        hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4),
    )
)
def test_an_array_comes_back_without_being_computed(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNAP_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        first, second = cached({"a": 1}, array.copy), cached({"a": 1}, never)
    for found in (first, second):
        assert (found.shape, found.dtype) == (array.shape, array.dtype)
        assert found.tobytes() == array.tobytes()


def test_nobody_can_write_to_it() -> None:
    """Neither to what was computed just now, nor to what the cache holds."""
    for found in (cached({"a": 1}, VALUE.copy), cached({"a": 1}, never)):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1
    np.testing.assert_array_equal(cached({"a": 1}, never), VALUE)


def test_another_identity_is_computed_for_itself() -> None:
    identities: list[dict[str, Any]] = [
        {"a": 1},
        {"a": 2},
        {"a": "1"},
        {"b": 1},
        {"a": 1, "b": 1},
        {"a": [1]},
    ]
    for i, identity in enumerate(identities):
        cached(identity, lambda i=i: np.full(3, i))
    for i, identity in enumerate(identities):
        assert set(cached(identity, never)) == {i}


def test_the_order_of_an_identity_does_not_matter() -> None:
    cached({"a": 1, "b": (2, 3)}, VALUE.copy)
    np.testing.assert_array_equal(cached({"b": [2, 3], "a": 1}, never), VALUE)


def test_a_damaged_file_is_made_again(cache: Path) -> None:
    cached({"a": 1}, VALUE.copy)
    (path,) = files(cache)
    whole = path.read_bytes()
    header = len(whole) - VALUE.nbytes
    cut = [whole[:length] for length in range(0, header, 7)]
    cut += [whole[:header], whole[: header + 1], whole[:-1], b"\x00" * len(whole)]
    for raw in cut:
        path.unlink()  # a map of the old content may still be open
        path.write_bytes(raw)
        again: list[int] = []

        def compute(again: list[int] = again) -> np.ndarray:
            again.append(1)
            return VALUE.copy()

        np.testing.assert_array_equal(cached({"a": 1}, compute), VALUE)
        assert again == [1]
        assert path.read_bytes() == whole


def test_a_pickle_in_its_place_is_not_loaded(cache: Path) -> None:
    cached({"a": 1}, VALUE.copy)
    (path,) = files(cache)
    path.unlink()
    np.save(path, np.array([{"an": "object"}]), allow_pickle=True)
    np.testing.assert_array_equal(cached({"a": 1}, VALUE.copy), VALUE)


def test_a_failed_computation_leaves_nothing(cache: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        cached({"a": 1}, lambda: np.array(1 // 0))
    assert files(cache) == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_what_is_cut_short_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException
) -> None:
    def half(file: Any, array: np.ndarray) -> None:
        file.write(array.tobytes()[:20])
        raise stop

    expected = ArtifactError if isinstance(stop, OSError) else KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr("numpy.save", half)
        with pytest.raises(expected):
            cached({"a": 1}, VALUE.copy)
    assert files(cache) == []
    np.testing.assert_array_equal(cached({"a": 1}, VALUE.copy), VALUE)


def test_the_name_appears_when_the_content_is_whole(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    save = np.save

    def watched(file: Any, array: np.ndarray) -> None:
        save(file, array)
        seen.append([p.suffix for p in files(cache)])

    monkeypatch.setattr("numpy.save", watched)
    cached({"a": 1}, VALUE.copy)
    assert seen == [[".new"]]
    assert [p.suffix for p in files(cache)] == [".npy"]


def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ArtifactError, match="cannot be written: Not a directory") as caught:
        cached({"a": 1}, VALUE.copy)
    assert "SNAP_CACHE_DIR" in (caught.value.hint or "")


def test_threads_that_want_the_same_get_the_same(cache: Path) -> None:
    together = threading.Barrier(4, timeout=60)

    def compute() -> np.ndarray:
        together.wait()
        return VALUE.copy()

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: cached({"a": 1}, compute), range(4)):
            np.testing.assert_array_equal(found, VALUE)
    assert len(files(cache)) == 1
