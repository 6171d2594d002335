"""The application with the tiny model, built once with ASan and UBSan."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need

from . import tiny_model
from .running import Console, running


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need(host=True)
    return tiny_model.build(tmp_path_factory.mktemp("firmware") / "firmware")


@pytest.fixture(scope="session")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without heads, for pixels, with a golden vector that fails."""
    need(host=True)
    defines = ("SNAP_MODEL_WITHOUT_HEADS", "SNAP_MODEL_INPUT_PIXELS=1", "TINY_MODEL_WRONG=1")
    return tiny_model.build(tmp_path_factory.mktemp("baseline") / "baseline", *defines)


@pytest.fixture
def console(firmware: Path) -> Iterator[Console]:
    with running(firmware) as process:
        yield process.console
