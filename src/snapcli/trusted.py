"""Code that this user has let run: functions that were typed, model files with --allow-code.

A run never says that its own code may run: it may come from somebody else. What was allowed is
kept on this machine, by a sha256: of the file, or of a function's name and where it was found.
"""

from contextlib import suppress
from pathlib import Path

from snapcli.cache import cache_dir


def trust(digest: str) -> None:
    """Where that cannot be kept, --allow-code is asked for again."""
    place = _place(digest)
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()


def is_trusted(digest: str) -> bool:
    return _place(digest).is_file()


def _place(digest: str) -> Path:
    return cache_dir() / "trusted" / digest
