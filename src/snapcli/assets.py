"""Files that are not Python: in a checkout beside src/, in a wheel inside the package."""

from pathlib import Path

from snapcli.errors import ToolchainError


def extra_command() -> str:
    """How to get the extra `train`: in a checkout by make, elsewhere by pip."""
    in_wheel = (Path(__file__).resolve().parent / "_assets").is_dir()
    return 'pip install "snap-uq[train]"' if in_wheel else "make setup"


def asset_dir(name: str) -> Path:
    """The folder firmware or pipelines."""
    package = Path(__file__).resolve().parent
    for candidate in (package / "_assets" / name, package.parents[1] / name):
        if candidate.is_dir():
            return candidate
    raise ToolchainError(
        f"the folder {name} is missing from this installation", "Install snap-uq again."
    )
