"""The published image formats: idx.gz, CIFAR's pickles in a tar, SVHN's .mat, -C's .npy."""

import gzip
import pickle
import tarfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from snapcli.data.archive import tar_members
from snapcli.errors import ArtifactError

_AGAIN = "Remove it and fetch it again: snap data fetch"


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An idx file of bytes, plain or gzipped: [n, ...] uint8."""
    try:
        raw = path.read_bytes()
        data = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        if len(data) < 4 or data[:3] != b"\x00\x00\x08":
            raise ValueError("it is no idx file of bytes")
        axes = data[3]
        header = 4 + 4 * axes
        shape = tuple(int(n) for n in np.frombuffer(data, ">u4", axes, 4))
        if len(data) - header != int(np.prod(shape, dtype=np.int64)):
            raise ValueError(f"it is cut short: its header says {shape}")
        return np.frombuffer(data, np.uint8, offset=header).reshape(shape).copy()
    except (OSError, EOFError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read: {_reason(error)}", _AGAIN) from None


class _ArraysOnly(pickle.Unpickler):
    """A pickle may run any code; one of CIFAR needs nothing but numpy arrays."""

    _ALLOWED = frozenset(
        {
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("_codecs", "encode"),
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)


def read_cifar10(folder: Path) -> dict[str, tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """{"train" | "test": (images [n, 32, 32, 3] uint8, labels [n])} of cifar-10-python.tar.gz."""
    archive = folder / "cifar-10-python.tar.gz"
    top = "cifar-10-batches-py"
    names = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
    try:
        with tar_members(archive) as files:
            return {
                split: _joined([_batch(files[f"{top}/{name}"]) for name in batches])
                for split, batches in names.items()
            }
    except KeyError as error:
        raise ArtifactError(f"{archive} has no file {error}", _AGAIN) from None
    except (OSError, EOFError, ValueError, tarfile.TarError, pickle.UnpicklingError) as error:
        raise ArtifactError(f"{archive} cannot be read: {_reason(error)}", _AGAIN) from None


def _batch(file: IO[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    content = _ArraysOnly(file, encoding="bytes").load()
    planes = np.asarray(content[b"data"], np.uint8).reshape(-1, 3, 32, 32)
    labels = np.asarray(content[b"labels"], np.int64)
    if len(labels) != len(planes):
        raise ValueError(f"{len(planes)} images but {len(labels)} labels")
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _joined(
    batches: list[tuple[NDArray[np.uint8], NDArray[np.int64]]],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])


def read_svhn(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(images [n, 32, 32, 3] uint8, digits [n]); the file writes 10 for the digit 0."""
    from scipy.io import loadmat

    try:
        content = loadmat(path, variable_names=["X", "y"])
        images = np.ascontiguousarray(content["X"].transpose(3, 0, 1, 2), np.uint8)
        labels = content["y"].reshape(-1).astype(np.int64) % 10
    except Exception as error:  # scipy's reader raises what its parts raise
        raise ArtifactError(f"{path} cannot be read: {_reason(error)}", _AGAIN) from None
    return images, labels


def read_corrupted(path: Path, severities: int, severity: int) -> NDArray[np.uint8]:
    """The images [n, h, w, c] of one severity of a -C file, which holds all of them in turn."""
    try:
        everything = np.load(path, mmap_mode="r", allow_pickle=False)
        count = len(everything) // severities
        images = np.asarray(everything[(severity - 1) * count : severity * count], np.uint8)
    except (OSError, EOFError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read: {_reason(error)}", _AGAIN) from None
    return images if images.ndim == 4 else images[..., None]


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
