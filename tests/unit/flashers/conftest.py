from pathlib import Path

import numpy as np
import pytest

from tests.fake_board import Desk, lay_out


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return lay_out(tmp_path, monkeypatch)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Bytes that are not a multiple of anything, in a folder with an awkward name."""
    folder = tmp_path / "a {folder} of me@home"
    folder.mkdir()
    path = folder / "firmware.bin"
    path.write_bytes(np.random.default_rng(5).bytes(5_003))
    return path
