"""Images for the boards, built once each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from snapcli import toolchain

from ..conftest import need

pytest.importorskip("unicorn", reason="unicorn is not installed (the extra dev)")
pytest.importorskip("pyocd", reason="pyocd is not installed (the extra dev)")

Images = Callable[[str], toolchain.Build]  # by name of the target


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Images:
    """program.c, which uses the ports alone."""
    return _images(tmp_path_factory, [Path(__file__).with_name("program.c")])


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> Images:
    """What `snap flash` builds."""
    return _images(tmp_path_factory, toolchain.app_sources())


def _images(tmp_path_factory: pytest.TempPathFactory, sources: list[Path]) -> Images:
    need(compiler=True)
    from .board import build

    built: dict[str, toolchain.Build] = {}

    def get(name: str) -> toolchain.Build:
        if name not in built:
            built[name] = build(name, tmp_path_factory.mktemp(name), sources)
        return built[name]

    return get
