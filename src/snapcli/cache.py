"""The folder for what can be made or fetched again: kernels, data sets, features."""

import os
from pathlib import Path

import platformdirs


def cache_dir() -> Path:
    """SNAP_CACHE_DIR, or where this system keeps caches."""
    return Path(os.environ.get("SNAP_CACHE_DIR") or platformdirs.user_cache_dir("snap-uq"))
