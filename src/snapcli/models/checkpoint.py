"""What a training has reached, in one file that is replaced as a whole."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from snapcli.errors import ArtifactError


def save(path: Path, variables: Sequence[Any], **further: Any) -> None:
    partial = path.with_suffix(".partial.npz")
    arrays: dict[str, Any] = {f"v{i}": v.numpy() for i, v in enumerate(variables)}
    try:
        np.savez(partial, **arrays, **further)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def opened(path: Path, hint: str) -> Iterator[Any]:
    """{name: array}; raises ArtifactError if it is damaged, or of another model."""
    try:
        with np.load(path) as saved:
            yield saved
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, EOFError):
        raise ArtifactError(f"{path} is damaged", hint) from None


def assign(saved: Any, variables: Sequence[Any]) -> None:
    for i, variable in enumerate(variables):
        variable.assign(saved[f"v{i}"])
