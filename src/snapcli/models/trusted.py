"""Model files whose code this user let run: `snap train --allow-code`.

A run never says that its own code may run: it may come from somebody else. What was allowed is
kept on this machine, by the sha256 of the file.
"""

from pathlib import Path

from snapcli.cache import cache_dir


def trust(digest: str) -> None:
    place = _place(digest)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()


def is_trusted(digest: str) -> bool:
    return _place(digest).is_file()


def _place(digest: str) -> Path:
    return cache_dir() / "trusted" / digest
