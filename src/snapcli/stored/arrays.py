"""The arrays of an .npz, each of the type, shape and range that its reader expects."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from snapcli.limits import HELD_MAX, check_held, check_ratio, check_shape
from snapcli.stored.reading import AGAIN, reading
from snapcli.stored.zips import open_zip

_CHUNK = 1 << 24


class Arrays:
    """Of one .npz. Each is asked for with the type and the shape that it must have."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays, self._read = dict(arrays), set[str]()

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def any(self, name: str) -> NDArray[Any]:
        """As it is; the caller checks it."""
        self._read.add(name)
        return self._arrays[name]

    def array(
        self,
        name: str,
        dtype: DTypeLike,
        shape: Sequence[int | None],
        low: float | None = None,
        high: float | None = None,
    ) -> NDArray[Any]:
        """shape: None where any size will do. low, high: what the values lie between; those of
        floating point are finite."""
        values = self.any(name)
        if values.dtype != np.dtype(dtype):
            raise ValueError(f"{name} is {values.dtype}, not {np.dtype(dtype)}")
        check_sizes(name, values, shape)
        check_values(name, values, low, high)
        return values

    def number(self, name: str, low: float, high: float) -> Any:
        """A whole number, or a real one where low is one."""
        value = self.any(name)
        if value.ndim or value.dtype.kind not in ("f" if isinstance(low, float) else "iu"):
            raise ValueError(f"{name} is {value.dtype} {value.shape}, not one number")
        check_values(name, value, low, high)
        return value.item()

    def words(self, name: str, count: int) -> tuple[str, ...]:
        names = self.any(name)
        if names.dtype.kind != "U" or names.shape != (count,):
            raise ValueError(f"{name} is {names.dtype} {names.shape}, not {count} names")
        return tuple(str(word) for word in names)

    def word(self, name: str, *among: str) -> str:
        """One of these; any, if none are given."""
        text = self.any(name)
        if text.dtype.kind != "U" or text.ndim or (among and str(text) not in among):
            raise ValueError(f"{name} is not a known name")
        return str(text)

    def check_all_read(self) -> None:
        unknown = sorted(set(self._arrays) - self._read)
        if unknown:
            raise ValueError(f"it also has {unknown[0][:40]}")


def check_sizes(name: str, values: NDArray[Any], shape: Sequence[int | None]) -> None:
    fits = len(shape) == values.ndim and all(
        size in (None, real) for size, real in zip(shape, values.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has the shape {values.shape}, not {_shown(shape)}")


def _shown(shape: Sequence[int | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def check_values(
    name: str, values: NDArray[Any], low: float | None = None, high: float | None = None
) -> None:
    """Raises ValueError unless all are finite and lie between these, ends included."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} is not finite")
    if values.size and low is not None and values.min() < low:
        raise ValueError(f"{name} has {values.min()}, below {low}")
    if values.size and high is not None and values.max() > high:
        raise ValueError(f"{name} has {values.max()}, above {high}")


@contextmanager
def stored_arrays(path: Path, hint: str = AGAIN, limit: int = HELD_MAX) -> Iterator[Arrays]:
    """Of an .npz of a run: the block asks for all that it must hold, by name."""
    with reading(path, hint):
        arrays = Arrays(read_npz(path, limit))
        yield arrays
        arrays.check_all_read()


def read_npz(path: Path, limit: int = HELD_MAX) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz by name, no objects among them, at most `limit` bytes together; what a
    damaged one raises is among DAMAGE."""
    with path.open("rb") as raw, open_zip(raw) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        check_held(size, "what it unpacks to", limit)
        check_ratio(path.stat().st_size, size)
        arrays: dict[str, NDArray[Any]] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in arrays:
                raise ValueError(f"its member {name[:40]} is not an array of its own")
            with archive.open(member) as file:
                arrays[name] = read_array(file, member.file_size, limit)
    return arrays


def read_npy(path: Path, limit: int = HELD_MAX) -> NDArray[Any]:
    """The array of an .npy, as read_npz reads one."""
    with path.open("rb") as file:
        return read_array(file, path.stat().st_size, limit)


def read_array(file: IO[bytes], size: int, limit: int) -> NDArray[Any]:
    """size: bytes of the file, or of the member; its header may claim no more."""
    headers = {b"\1\0": npy.read_array_header_1_0, b"\2\0": npy.read_array_header_2_0}
    magic, version = file.read(6), file.read(2)
    if magic != npy.MAGIC_PREFIX or version not in headers:
        raise ValueError("it is not an array that numpy.save wrote")
    try:
        shape, fortran, dtype = headers[version](file)
    except Exception:  # numpy parses it as Python, which raises what it likes
        raise ValueError("its header is damaged") from None
    if dtype.hasobject:
        raise ValueError("it holds objects, which could run code")
    if any(n < 0 for n in shape):
        raise ValueError(f"it claims the shape {shape}")
    check_shape(shape, dtype.itemsize, "it", limit)
    count = math.prod(shape)
    if count * dtype.itemsize != size - file.tell():
        raise ValueError(f"it claims the shape {shape}, which is not what it holds")
    raw = bytearray(count * dtype.itemsize)
    for start in range(0, len(raw), _CHUNK):
        part = file.read(min(_CHUNK, len(raw) - start))
        raw[start : start + len(part)] = part
        if len(part) < min(_CHUNK, len(raw) - start):
            raise ValueError("it is cut short")
    # Without a byte there is nothing to look into.
    array = np.frombuffer(raw, dtype) if raw else np.empty(count, dtype)
    return array.reshape(shape, order="F" if fortran else "C")
