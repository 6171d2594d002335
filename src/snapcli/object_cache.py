"""Compiled objects, kept by what they were made of: a repeated build finds them again.

The key is a hash of the preprocessed source, so that no header can be forgotten, of the flags and
of the compiler. Kept in the cache (SNAP_CACHE_DIR); whatever goes wrong there costs time alone.
"""

import hashlib
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from snapcli.cache import cache_dir

# Enough for the kernels and many models: an object has some 10 KB.
_MOST, _LEFT = 4000, 3000
_FRAMES = ".su"  # what -fstack-usage writes beside an object


def key_of(compiler: Path, preprocessed: str, name: str, flags: list[str]) -> str:
    """name: of the source, which the object holds; flags: those that no preprocessing shows."""
    stat = compiler.resolve().stat()
    parts = (str(compiler), str(stat.st_size), str(stat.st_mtime_ns), name, *flags, preprocessed)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def fetch(key: str, place: Path) -> bool:
    """Whether an object of this key was there, which now lies at the place, with its .su file."""
    kept = _folder() / f"{key}.o"
    try:
        shutil.copyfile(kept.with_suffix(_FRAMES), place.with_suffix(_FRAMES))
        shutil.copyfile(kept, place)
        os.utime(kept)  # the ones that nobody asks for go first
    except OSError:
        return False
    return True


def keep(key: str, made: Path) -> None:
    """Whole or not at all: others may look for it meanwhile."""
    folder = _folder()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        # The object comes last: where it is, its frames are.
        for suffix in (_FRAMES, ".o"):
            number, partial = tempfile.mkstemp(dir=folder)
            os.close(number)
            try:
                shutil.copyfile(made.with_suffix(suffix), partial)
                os.replace(partial, folder / f"{key}{suffix}")
            except OSError:
                os.unlink(partial)
                raise
        _thin_out(folder)


def _folder() -> Path:
    return cache_dir() / "objects"


def _thin_out(folder: Path) -> None:
    objects = list(folder.glob("*.o"))
    if len(objects) <= _MOST:
        return
    for path in sorted(objects, key=lambda o: o.stat().st_mtime)[: len(objects) - _LEFT]:
        path.unlink(missing_ok=True)
        path.with_suffix(_FRAMES).unlink(missing_ok=True)
