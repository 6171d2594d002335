"""How large arrays of a user's own may be: as large as the file on disk gives reason to expect."""

from pathlib import Path

import numpy as np
import pytest

from snapcli.data.user import npz
from snapcli.errors import ArtifactError

LIMIT = 1 << 16


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "DATA_MAX", LIMIT)


def test_what_is_large_on_disk_may_be_large_in_memory(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, 4 * LIMIT, np.uint8)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", x=x)
        assert np.array_equal(npz.read_npz(tmp_path / "x.npz", "hint")["x"], x)


def test_what_is_small_on_disk_may_not(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(4 * LIMIT, np.uint8))
    with pytest.raises(ArtifactError, match="unpacks to"):
        npz.read_npz(tmp_path / "x.npz", "hint")
