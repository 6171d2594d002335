"""A folder in the place of another, so that one of the two is there whatever happens.

Two renames cannot be one step. Between them the old folder lies aside, under a name of its own;
a process that is killed there leaves it, and settled() ends what was begun.
"""

import errno
import os
import re
import tempfile
from pathlib import Path

from snapcli.runs.files import removed


def aside(final: Path) -> Path:
    """Where the old folder lies meanwhile."""
    return final.with_name(f".{final.name}.old")


def temporary_for(final: Path) -> Path:
    """A new folder beside it, that is to take its place."""
    return Path(tempfile.mkdtemp(prefix=f".{final.name}.{os.getpid()}.", dir=final.parent))


def swept(final: Path) -> None:
    """Removes the temporary folders of others; the caller knows that they are dead."""
    pattern = re.compile(re.escape(f".{final.name}.") + r"\d+\.\w+")
    for path in final.parent.iterdir():
        if pattern.fullmatch(path.name):
            removed(path)


def swapped(temporary: Path, final: Path) -> None:
    """Has to be followed by settled(), also when it fails."""
    temporary.chmod(0o755)
    old = aside(final)
    removed(old)
    if old.exists():
        raise OSError(errno.ENOTEMPTY, "cannot be removed", str(old))
    if final.exists() or final.is_symlink():
        final.rename(old)
    temporary.rename(final)


def settled(temporary: Path, final: Path, counts: bool = True) -> None:
    """Ends swapped(), however far it came: the old folder is removed, or comes back if the new one
    is not in its place or does not count."""
    placed = not temporary.exists()
    if placed and not counts:
        removed(final)
    if not final.exists():
        brought_back(final)
    elif placed and counts:
        removed(aside(final))


def brought_back(final: Path) -> None:
    """The old folder, if there is one, in its own place."""
    old = aside(final)
    if old.is_dir() and not old.is_symlink():
        removed(final)
        old.rename(final)
