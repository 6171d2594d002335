"""Arrays of an .npz."""

from pathlib import Path

import numpy as np

from snapcli import stored
from snapcli.errors import ConfigError
from snapcli.limits import DATA_MAX
from snapcli.stored import reading

Arrays = dict[str, np.ndarray]
DIVISIONS = ("train", "dev", "test")
_PACKED_TO = 10


def read_npz(path: Path, hint: str) -> Arrays:
    """All arrays by name; hint: what the file has to hold. Objects are refused, as they could run
    code."""
    with reading(path, hint):
        # Gigabytes on disk are meant to be loaded; a zip bomb is small on disk.
        return stored.read_npz(path, max(DATA_MAX, _PACKED_TO * path.stat().st_size))


def one_for_each(y: np.ndarray, count: int, where: str) -> np.ndarray:
    """Labels [count] of an array, whole numbers or names; raises ConfigError for others."""
    if y.dtype.kind not in "iubUS":
        raise ConfigError(f"{where} has labels of {y.dtype}", "Give whole numbers or names.")
    if y.size != count:
        hint = "Give a label for each."
        if y.ndim == 2 and len(y) == count:
            hint = "Give the number of the class, not a row of ones and zeros: y.argmax(axis=1)"
        raise ConfigError(f"{where} has {count} examples but {y.size} labels", hint)
    return decoded(y.reshape(-1))


def decoded(words: np.ndarray) -> np.ndarray:
    """Names that were stored as bytes as text; others as they are."""
    return np.char.decode(words) if words.dtype.kind == "S" else words
