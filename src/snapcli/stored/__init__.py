"""What a run holds, read as data from somebody else: JSON and .npz, of a size, a type and a range.

A hash says that a file is the one that was recorded, not that snap wrote it. So every reader says
what it expects, and whatever is not that is an ArtifactError: never a traceback, never a number
that goes on into a build.
"""

from snapcli.stored.arrays import (
    Arrays,
    check_sizes,
    check_values,
    read_npy,
    read_npz,
    stored_arrays,
)
from snapcli.stored.reading import AGAIN, DAMAGE, reading, reason
from snapcli.stored.values import conform, json_value, read_as, read_json
from snapcli.stored.zips import open_zip

__all__ = [
    "AGAIN",
    "DAMAGE",
    "Arrays",
    "check_sizes",
    "check_values",
    "conform",
    "json_value",
    "open_zip",
    "read_as",
    "read_json",
    "read_npy",
    "read_npz",
    "reading",
    "reason",
    "stored_arrays",
]
