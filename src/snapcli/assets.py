"""Files that are not Python: in a checkout beside src/, in a wheel inside the package."""

from pathlib import Path

from snapcli.errors import ToolchainError

_AGAIN = "Install snap-uq again."


def install_command(extra: str = "") -> str:
    """How to get our own packages, or those of an extra: in a checkout by make, else by pip."""
    in_wheel = (Path(__file__).resolve().parent / "_assets").is_dir()
    return f'pip install "snap-uq{extra}"' if in_wheel else "make setup"


def licence() -> str:
    """The text of our own."""
    package = Path(__file__).resolve().parent
    for candidate in (package / "_assets", package.parents[1]):
        if (candidate / "LICENSE").is_file():
            return (candidate / "LICENSE").read_text("utf-8")
    raise ToolchainError("the file LICENSE is missing from this installation", _AGAIN)


def asset_dir(name: str) -> Path:
    """The folder firmware or pipelines."""
    package = Path(__file__).resolve().parent
    for candidate in (package / "_assets" / name, package.parents[1] / name):
        if candidate.is_dir():
            return candidate
    raise ToolchainError(f"the folder {name} is missing from this installation", _AGAIN)
