"""What a training has reached, in one file that is replaced as a whole."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.stored import Arrays


def save(path: Path, variables: Sequence[Any], **further: Any) -> None:
    partial = path.with_suffix(".partial.npz")
    arrays: dict[str, Any] = {f"v{i}": v.numpy() for i, v in enumerate(variables)}
    try:
        np.savez(partial, **arrays, **further)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def assign(saved: Arrays, variables: Sequence[Any]) -> None:
    """All or, if one is of another model, none."""
    values = [
        saved.array(f"v{i}", variable.dtype.as_numpy_dtype, tuple(variable.shape))
        for i, variable in enumerate(variables)
    ]
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def epochs(saved: Arrays, name: str, columns: int, most: int) -> list[list[float]]:
    """A row of figures for each epoch, of which there are at most so many."""
    table = saved.any(name)
    if not table.size:
        return []
    rows = saved.array(name, np.float64, (None, columns))
    if len(rows) > most:
        raise ValueError(f"{name} has {len(rows)} epochs of {most}")
    return [[float(figure) for figure in row] for row in rows]
