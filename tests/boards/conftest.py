"""One image per target, built once."""

from collections.abc import Callable

import pytest

from snapcli.toolchain import Build

from ..conftest import need

pytest.importorskip("unicorn", reason="unicorn is not installed (the extra dev)")
pytest.importorskip("pyocd", reason="pyocd is not installed (the extra dev)")


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Build]:
    """By name of the target."""
    need(compiler=True)
    from .board import build

    built: dict[str, Build] = {}

    def get(name: str) -> Build:
        if name not in built:
            built[name] = build(name, tmp_path_factory.mktemp(name))
        return built[name]

    return get
