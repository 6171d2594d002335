"""Files that are replaced as a whole, and what the file system refuses."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from snapcli.errors import ArtifactError, SnapError
from snapcli.jsontext import dumps

Writer = Callable[[Path], None]
"""Writes a file of that name, whatever its suffix says."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file beside it that takes its place when the block ends well."""
    partial = path.with_name(f".{path.name}.new")
    try:
        # What lies there already may be a link to somewhere else.
        partial.unlink(missing_ok=True)
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Replaces the file as a whole."""
    with whole_file(path) as partial:
        json_writer(value)(partial)


def json_writer(value: Any) -> Writer:
    def write(path: Path) -> None:
        path.write_text(dumps(value) + "\n")

    return write


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def leads_out(path: Path, root: Path) -> bool:
    """Whether a link on the way takes it out of the folder root, which is resolved."""
    try:
        return not path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle
        return True


def removed(path: Path) -> None:
    """As far as the file system lets us; of a link, the link alone."""
    if path.is_symlink() or path.is_file():
        with suppress(OSError):
            path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def disk_errors(where: Path, option: str = "--runs-dir") -> Iterator[None]:
    """Turns what the file system refuses into an error of ours; option: what names the place."""
    try:
        yield
    except SnapError:
        raise
    except PermissionError as error:
        raise ArtifactError(
            f"may not write {error.filename or where}",
            f"Choose another place with {option}, or change its permissions.",
        ) from None
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not where.parent.is_dir():
            raise ArtifactError(
                f"cannot write {where}: the folder {where.parent} does not exist",
                f"Make that folder, or choose another place with {option}.",
            ) from None
        raise ArtifactError(
            f"cannot write {error.filename or where}: {os.strerror(error.errno or 0)}",
            f"Free some space, or choose another place with {option}.",
        ) from None
