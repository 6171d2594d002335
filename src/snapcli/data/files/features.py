"""Inputs that take long to compute, kept in the cache under the hash of what they follow from."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.cache import cache_dir
from snapcli.errors import ArtifactError


def hash_of(how: str, arrays: Iterable[np.ndarray]) -> str:
    """Names what is made in a way from these arrays."""
    digest = hashlib.sha256(how.encode())
    for x in arrays:
        digest.update(f"{x.shape}".encode())
        digest.update(np.ascontiguousarray(x).data)
    return digest.hexdigest()


def cached(identity: dict[str, Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """compute()'s array, from the cache if it was computed before; not to be written to.

    identity: JSON values that the array depends on, beside the code of this package.
    """
    whole = {**identity, "code": _code()}
    key = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
    path = cache_dir() / "features" / key[:2] / f"{key}.npy"
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        pass  # not there, or damaged: it is made again
    array = compute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".new", delete=False) as file:
            try:
                np.save(file, array)
                file.flush()
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise ArtifactError(
            f"the cache {path.parent} cannot be written: {error.strerror or error}",
            "Free some space, or name another folder in SNAP_CACHE_DIR.",
        ) from None
    array.flags.writeable = False  # as it comes from the cache
    return array


@cache
def _code() -> str:
    """A hash of the modules that read, corrupt and transform data: a changed one makes anew."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
