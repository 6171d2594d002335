"""What is read from files is kept in a cache: here in one of the test's own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
