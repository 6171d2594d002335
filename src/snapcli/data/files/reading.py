"""Reading many files: in parallel, once, and past those that are broken."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.data.dataset import Raw
from snapcli.data.files.features import cached
from snapcli.errors import ArtifactError
from snapcli.progress import OnProgress


@dataclass(frozen=True)
class Reading:
    """x [n, ...] of the files that could be read; kept: their positions among all; broken: what
    is wrong with each of the others."""

    x: Raw
    kept: NDArray[np.intp]
    broken: tuple[str, ...]


def listing(paths: Sequence[Path], root: Path) -> str:
    """A hash of the names, sizes and times of files: another one when any of them changes."""
    digest = hashlib.sha256()
    for path in paths:
        stat = path.stat()
        digest.update(f"{path.relative_to(root)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def read_all(
    paths: Sequence[Path],
    read: Callable[[Path], Raw],
    shape: tuple[int, ...],
    dtype: Any,
    identity: dict[str, Any],
    on_progress: OnProgress,
) -> Reading:
    """read(path) of every file, each of this shape and type; it raises ArtifactError for a broken
    one. identity: all that the result depends on."""
    # One table: what was read, and whether it could be, are kept or lost together.
    row = np.dtype([("x", dtype, shape), ("good", bool)], align=True)

    def compute() -> NDArray[Any]:
        table = np.zeros(len(paths), row)

        def one(i: int) -> None:
            try:
                table["x"][i] = read(paths[i])
                table["good"][i] = True
            except ArtifactError:
                pass  # reported below

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for done, _ in enumerate(pool.map(one, range(len(paths))), start=1):
                if done % 256 == 0 or done == len(paths):
                    on_progress(done, len(paths), "files read")
        return table

    table = cached(identity, compute)
    x, good = table["x"], table["good"]
    kept = np.flatnonzero(good)
    broken = tuple(_trouble(read, paths[int(i)]) for i in np.flatnonzero(~good))
    return Reading(x[kept] if broken else x, kept, broken)


def _trouble(read: Callable[[Path], Raw], path: Path) -> str:
    try:
        read(path)
    except ArtifactError as error:
        return error.message
    return f"cannot read {path}"


def first_of(broken: Sequence[str]) -> str:
    """What is wrong with the first of these files, and how many follow."""
    return f"{broken[0]} (and {len(broken) - 1} more)" if len(broken) > 1 else broken[0]


def broken_note(broken: Sequence[str], strict: bool) -> tuple[str, ...]:
    """What to tell of broken files; with strict the first one is an error."""
    if not broken:
        return ()
    if strict:
        raise ArtifactError(first_of(broken), "Fix or remove it.")
    files = "file was" if len(broken) == 1 else "files were"
    return (*broken, f"{len(broken)} broken {files} skipped")
