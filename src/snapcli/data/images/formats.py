"""The published image formats: idx.gz, CIFAR's pickles in a tar, SVHN's .mat, -C's .npy."""

import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli.data.files.archive import read_members
from snapcli.data.images.batches import read_batch
from snapcli.data.images.mat import check_mat
from snapcli.errors import ArtifactError
from snapcli.limits import MIB, read_bytes, unpacked

_IDX_MAX = 128 * MIB  # of MNIST the largest has 47
_AGAIN = "Remove it: snap fetches it again when it is needed."


def read_idx(path: Path, axes: int) -> NDArray[np.uint8]:
    """An idx file of bytes, plain or gzipped: uint8 with this many axes."""
    try:
        raw = read_bytes(path)
        data = unpacked(raw, _IDX_MAX) if raw[:2] == b"\x1f\x8b" else raw
        if len(data) < 4 or data[:3] != b"\x00\x00\x08":
            raise ValueError("it is not an idx file of bytes")
        if data[3] != axes:
            raise ValueError(f"it has {data[3]} axes instead of {axes}")
        header = 4 + 4 * axes
        shape = tuple(int(n) for n in np.frombuffer(data, ">u4", axes, 4))
        if len(data) - header != math.prod(shape):
            raise ValueError(f"its header says {shape}, but {len(data) - header:,} bytes follow")
        return np.frombuffer(data, np.uint8, offset=header).reshape(shape).copy()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ArtifactError(f"{path} cannot be read: {_reason(error)}", _AGAIN) from None


def read_cifar10(folder: Path) -> dict[str, tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """{"train" | "test": (images [n, 32, 32, 3] uint8, labels [n])} of cifar-10-python.tar.gz."""
    archive = folder / "cifar-10-python.tar.gz"
    top = "cifar-10-batches-py"
    batches = {
        "train": [f"{top}/data_batch_{i}" for i in range(1, 6)],
        "test": [f"{top}/test_batch"],
    }
    try:
        files = read_members(archive, {name for names in batches.values() for name in names})
        return {
            split: _joined([_batch(files, name) for name in names])
            for split, names in batches.items()
        }
    except Exception as error:  # gzip, tar and pickle raise what their parts raise
        raise ArtifactError(f"{archive} cannot be read: {_reason(error)}", _AGAIN) from None


def _batch(files: dict[str, bytes], name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if name not in files:
        raise ValueError(f"it has no {name}")
    planes, labels = read_batch(files[name])
    if len(labels) != len(planes):
        raise ValueError(f"{name} has {len(planes)} images but {len(labels)} labels")
    if not np.isin(labels, np.arange(10)).all():
        raise ValueError(f"{name} has labels beyond 0 to 9")
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _joined(
    batches: list[tuple[NDArray[np.uint8], NDArray[np.int64]]],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])


def read_svhn(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(images [n, 32, 32, 3] uint8, digits [n]); the file writes 10 for the digit 0."""
    from scipy.io import loadmat

    try:
        check_mat(path)
        content = loadmat(path, variable_names=["X", "y"])
        images = np.ascontiguousarray(content["X"].transpose(3, 0, 1, 2), np.uint8)
        labels = content["y"].reshape(-1).astype(np.int64) % 10
        if len(images) != len(labels):
            raise ValueError(f"it has {len(images)} images but {len(labels)} labels")
    except Exception as error:  # scipy's reader raises what its parts raise
        raise ArtifactError(f"{path} cannot be read: {_reason(error)}", _AGAIN) from None
    return images, labels


def read_corrupted(
    path: Path, shape: tuple[int, ...], severities: int, severity: int
) -> NDArray[np.uint8]:
    """One severity of a -C file, which holds all of them in turn; shape: that of the test images,
    [n, h, w, c], to which they belong one by one."""
    try:
        everything = np.lib.format.open_memmap(path, mode="r")
        if everything.dtype != np.uint8:
            raise ValueError(f"it holds {everything.dtype} instead of bytes")
        return np.array(everything.reshape(severities, *shape)[severity - 1])
    except (OSError, EOFError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read: {_reason(error)}", _AGAIN) from None


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
