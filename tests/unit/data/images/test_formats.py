"""The published image formats, whole and damaged in every way that a download can be."""

import gzip
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat

from snapcli.data.images.formats import read_cifar10, read_corrupted, read_idx, read_svhn
from snapcli.errors import ArtifactError
from tests.unit.data.layouts import (
    batch,
    content,
    idx,
    pickled,
    tar_gz,
    write_cifar10,
    write_cifar10_c,
    write_mnist_c,
    write_svhn,
)


def refused(path: Path, error: ArtifactError, word: str = "") -> None:
    """The error names the file and is one line."""
    assert str(path) in error.message
    assert "\n" not in error.message
    assert word in error.message
    assert error.hint


# ---- idx ----------------------------------------------------------------------


@given(
    array=hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)),
    packed=st.booleans(),
)
def test_an_idx_file_comes_back(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray, packed: bool
) -> None:
    path = tmp_path_factory.mktemp("idx") / "a"
    path.write_bytes(gzip.compress(idx(array)) if packed else idx(array))
    found = read_idx(path, array.ndim)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, array)


IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("packed", [False, True])
def test_an_idx_file_that_ends_anywhere_is_refused(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a"
    whole = idx(IMAGES)
    for length in range(len(whole)):
        part = whole[:length]
        path.write_bytes(gzip.compress(part) if packed else part)
        with pytest.raises(ArtifactError) as caught:
            read_idx(path, 3)
        refused(path, caught.value)


def test_a_gzipped_file_that_ends_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    whole = gzip.compress(idx(IMAGES))
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ArtifactError) as caught:
            read_idx(path, 3)
        refused(path, caught.value)


def test_a_gzipped_file_with_a_wrong_byte_anywhere_is_refused(tmp_path: Path) -> None:
    """By gzip's own sums; only what its header says of names and times does not matter."""
    path = tmp_path / "a.gz"
    whole = gzip.compress(idx(IMAGES), mtime=0)
    for place in range(10, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(ArtifactError) as caught:
            read_idx(path, 3)
        refused(path, caught.value)


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"\x00\x01" + idx(IMAGES)[2:], "not an idx file"),
        (b"\x00\x00\x0d" + idx(IMAGES)[3:], "not an idx file"),  # floats
        (idx(IMAGES) + b"\x00", "25 bytes follow"),
        (idx(IMAGES[0]), "2 axes instead of 3"),
        (b"\x00\x00\x08\x03" + b"\xff" * 12, "0 bytes follow"),
        (b"P5 28 28 255 ", "not an idx file"),
    ],
)
def test_what_is_no_idx_file_of_images_is_told(tmp_path: Path, raw: bytes, word: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(raw)
    with pytest.raises(ArtifactError) as caught:
        read_idx(path, 3)
    refused(path, caught.value, word)


def test_a_missing_idx_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_idx(tmp_path / "a", 3)
    refused(tmp_path / "a", caught.value)


# ---- CIFAR-10 -----------------------------------------------------------------


def small_batches() -> dict[str, Any]:
    names = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
    return {name: batch(content(10, (32, 32, 3), seed)) for seed, name in enumerate(names)}


def write_batches(folder: Path, batches: dict[str, Any]) -> Path:
    path = folder / "cifar-10-python.tar.gz"
    tar_gz(path, {name: pickled(value) for name, value in batches.items()})
    return path


def test_cifar10_comes_back(tmp_path: Path) -> None:
    written = write_cifar10(tmp_path, per_batch=10)
    found = read_cifar10(tmp_path / "cifar10")
    assert set(found) == set(written) == {"train", "test"}
    for split, (x, y) in found.items():
        assert (x.dtype, y.dtype) == (np.uint8, np.int64)
        np.testing.assert_array_equal(x, written[split].x)
        np.testing.assert_array_equal(y, written[split].y)


def test_a_pickle_of_this_python_is_read_too(tmp_path: Path) -> None:
    batches = small_batches()
    path = tmp_path / "cifar-10-python.tar.gz"
    tar_gz(path, {name: pickle.dumps(value, protocol=2) for name, value in batches.items()})
    np.testing.assert_array_equal(
        read_cifar10(tmp_path)["test"][1], batches["test_batch"][b"labels"]
    )


class Runs:
    """A pickle of it runs a command when it is loaded."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.reduced = (call, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


@pytest.mark.parametrize("place", ["whole", b"labels", b"filenames", b"data"])
def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path: Path, place: Any) -> None:
    traces = [tmp_path / "system", tmp_path / "open", tmp_path / "eval"]
    calls = [
        Runs(os.system, f"touch {traces[0]}"),
        Runs(open, str(traces[1]), "w"),
        Runs(eval, f"__import__('pathlib').Path({str(traces[2])!r}).touch()"),
    ]
    for evil in calls:
        batches = small_batches()
        if place == "whole":
            batches["data_batch_3"] = evil
        else:
            batches["data_batch_3"][place] = evil
        path = write_batches(tmp_path, batches)
        with pytest.raises(ArtifactError, match="it names") as caught:
            read_cifar10(tmp_path)
        refused(path, caught.value)
    assert not any(trace.exists() for trace in traces)


@pytest.mark.parametrize("gone", [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"])
def test_a_missing_batch_is_named(tmp_path: Path, gone: str) -> None:
    batches = small_batches()
    del batches[gone]
    path = write_batches(tmp_path, batches)
    with pytest.raises(ArtifactError) as caught:
        read_cifar10(tmp_path)
    refused(path, caught.value, f"it has no cifar-10-batches-py/{gone}")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({b"labels": [0] * 9}, "10 images but 9 labels"),
        ({b"labels": [*range(9), 10]}, "labels beyond 0 to 9"),
        ({b"labels": [*range(9), -1]}, "labels beyond 0 to 9"),
        ({b"labels": ["cat"] * 10}, "labels are not whole numbers"),
        ({b"data": np.zeros((10, 3071), np.uint8)}, "cannot reshape"),
        ({b"data": None}, ""),
    ],
)
def test_a_batch_that_does_not_fit_together_is_refused(
    tmp_path: Path, change: dict[bytes, Any], word: str
) -> None:
    batches = small_batches()
    batches["data_batch_2"] |= change
    path = write_batches(tmp_path, batches)
    with pytest.raises(ArtifactError) as caught:
        read_cifar10(tmp_path)
    refused(path, caught.value, word)


@pytest.mark.parametrize("value", [{}, [], None, {b"data": np.zeros((1, 3072), np.uint8)}])
def test_a_batch_of_other_content_is_refused(tmp_path: Path, value: Any) -> None:
    path = write_batches(tmp_path, {**small_batches(), "test_batch": value})
    with pytest.raises(ArtifactError) as caught:
        read_cifar10(tmp_path)
    refused(path, caught.value)


@given(data=st.data())
def test_a_damaged_pickle_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Nothing but an error of ours comes out, whatever byte is wrong."""
    folder = tmp_path_factory.mktemp("cifar")
    files = {name: pickled(value) for name, value in small_batches().items()}
    raw = bytearray(files["data_batch_1"])
    for _ in range(data.draw(st.integers(1, 3))):
        # Beyond the pixels, which may be anything, there is little that could be wrong.
        place = data.draw(st.integers(0, len(raw) - 1) | st.integers(0, 300))
        raw[place] = data.draw(st.integers(0, 255))
    files["data_batch_1"] = bytes(raw[: data.draw(st.just(len(raw)) | st.integers(0, len(raw)))])
    tar_gz(folder / "cifar-10-python.tar.gz", files)
    try:
        x, y = read_cifar10(folder)["train"]
    except ArtifactError as error:
        refused(folder, error)
    else:
        assert len(x) == len(y)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = write_batches(tmp_path, small_batches())
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    cases = [whole[: int(share * len(whole))] for share in (0, 0.001, 0.3, 0.6, 0.9)]
    for place in rng.integers(20, len(whole) - 8, 20):
        cases.append(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    for raw in cases:
        path.write_bytes(raw)
        with pytest.raises(ArtifactError) as caught:
            read_cifar10(tmp_path)
        refused(path, caught.value)


# ---- SVHN ---------------------------------------------------------------------


def test_svhn_comes_back_with_its_zeros(tmp_path: Path) -> None:
    written = write_svhn(tmp_path)
    x, y = read_svhn(tmp_path / "svhn" / "test_32x32.mat")
    assert x.dtype == np.uint8
    assert 0 in written.y
    np.testing.assert_array_equal(x, written.x)
    np.testing.assert_array_equal(y, written.y)


def test_a_damaged_mat_file_is_refused(tmp_path: Path) -> None:
    write_svhn(tmp_path)
    path = tmp_path / "svhn" / "test_32x32.mat"
    whole = path.read_bytes()
    for raw in (b"", whole[:50], whole[:200], whole[:-30], b"no matlab file" * 100):
        path.write_bytes(raw)
        with pytest.raises(ArtifactError) as caught:
            read_svhn(path)
        refused(path, caught.value)


@pytest.mark.parametrize(
    "arrays",
    [
        {"X": np.zeros((32, 32, 3, 2), np.uint8)},
        {"y": np.zeros((2, 1))},
        {"X": np.zeros((32, 32), np.uint8), "y": np.zeros((2, 1))},
        {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.zeros((3, 1))},
    ],
)
def test_a_mat_file_of_other_content_is_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray]
) -> None:
    path = tmp_path / "a.mat"
    savemat(path, arrays)
    with pytest.raises(ArtifactError) as caught:
        read_svhn(path)
    refused(path, caught.value)


# ---- Corrupted test images ----------------------------------------------------


def test_each_severity_of_cifar10_c_is_its_part_of_the_file(tmp_path: Path) -> None:
    written = write_cifar10_c(tmp_path, ("fog", "snow"), count=6)
    for name, severities in written.items():
        path = tmp_path / "CIFAR-10-C" / f"{name}.npy"
        for severity, images in enumerate(severities, start=1):
            found = read_corrupted(path, (6, 32, 32, 3), 5, severity)
            assert found.dtype == np.uint8
            np.testing.assert_array_equal(found, images)


def test_mnist_c_has_one_severity_and_perhaps_no_axis_of_channels(tmp_path: Path) -> None:
    written = write_mnist_c(tmp_path, ("fog",))
    path = tmp_path / "mnist_c" / "fog" / "test_images.npy"
    for stored in (written["fog"], written["fog"][..., 0]):
        np.save(path, stored)
        np.testing.assert_array_equal(read_corrupted(path, (40, 28, 28, 1), 1, 1), written["fog"])


@pytest.mark.parametrize(
    ("array", "word"),
    [
        (np.zeros((49, 4, 4, 3), np.uint8), "cannot reshape"),
        (np.zeros((50, 4, 4, 1), np.uint8), "cannot reshape"),
        (np.zeros((50, 4, 4, 3), np.float32), "float32 instead of bytes"),
        (np.array([[None]]), ""),
        (np.uint8(3), "cannot reshape"),
    ],
)
def test_corrupted_images_of_another_test_set_are_refused(
    tmp_path: Path, array: np.ndarray, word: str
) -> None:
    path = tmp_path / "fog.npy"
    np.save(path, array)
    with pytest.raises(ArtifactError) as caught:
        read_corrupted(path, (10, 4, 4, 3), 5, 1)
    refused(path, caught.value, word)


def test_a_damaged_npy_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fog.npy"
    np.save(path, np.zeros((50, 4, 4, 3), np.uint8))
    whole = path.read_bytes()
    np.savez(tmp_path / "a.npz", np.zeros((50, 4, 4, 3), np.uint8))
    cases = [whole[:length] for length in (0, 3, 9, 40, 127, 128, len(whole) - 1)]
    for raw in (*cases, (tmp_path / "a.npz").read_bytes()):
        path.write_bytes(raw)
        with pytest.raises(ArtifactError) as caught:
            read_corrupted(path, (10, 4, 4, 3), 5, 1)
        refused(path, caught.value)
