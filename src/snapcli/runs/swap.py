"""A folder in the place of another, so that one of the two is there whatever happens.

Two renames cannot be one step. Between them the old folder lies aside, under a name of its own;
a process that is killed there leaves it, and settled() ends what was begun.
"""

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
    if final.exists() or final.is_symlink():
        final.rename(old)
    temporary.rename(final)


def settled(final: Path, new: bool) -> None:
    """Removes the old folder, or brings it back unless the new one counts."""
    old = aside(final)
    if not new and old.is_dir() and not old.is_symlink():
        removed(final)
        old.rename(final)
    removed(old)
