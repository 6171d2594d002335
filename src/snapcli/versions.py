"""The versions of what shapes a result: snap itself, Python and its packages, tools.

They are queried when a stage is recorded, once per process.
"""

import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from snapcli import toolchain
from snapcli.errors import ToolchainError
from snapcli.used import Use

# {package: the module that shows that it is in use}, of those that compute something.
_PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "scikit-learn": "sklearn",
    "pillow": "PIL",
    "ai-edge-litert": "ai_edge_litert",
    "tensorflow": "tensorflow",
    "tf_keras": "tf_keras",
    "tensorflow-model-optimization": "tensorflow_model_optimization",
}
_COMMIT = "commit"


def versions() -> dict[str, str]:
    """Of snap (with its commit, where it runs from a checkout), of Python, and of the packages
    that are loaded by now."""
    by_name = {"python": ".".join(map(str, sys.version_info[:3]))}
    by_name |= _package("snap-uq")
    if commit := snap_commit():
        by_name[_COMMIT] = commit
    for package, module in _PACKAGES.items():
        if module in sys.modules:
            by_name |= _package(package)
    return by_name


def tools(uses: Iterable[Use]) -> dict[str, dict[str, Any]]:
    """{name: {version, flags: every line of flags it was used with}}; what has no version, such
    as a drive that an image is copied to, is left out."""
    by_name: dict[str, dict[str, Any]] = {}
    for use in uses:
        known = use.version or _tool_version(use.name)
        if known:
            entry = by_name.setdefault(use.name, {"version": known, "flags": []})
            entry["flags"] += [use.flags] if use.flags else []
    return by_name


@cache
def snap_commit() -> str | None:
    """The commit of the checkout that snap runs from, with -dirty behind it if files that git
    knows were changed; None where it is not a checkout, or git cannot tell."""
    root = Path(__file__).resolve().parents[2]
    return toolchain.git_commit(root) if (root / ".git").exists() else None


def _package(name: str) -> dict[str, str]:
    try:
        return {name: version(name)}
    except PackageNotFoundError:
        return {}


@cache
def _tool_version(name: str) -> str | None:
    """Of a package that is run as a program (pyocd), or of a program on the PATH."""
    if package := _package(name):
        return package[name]
    try:
        return toolchain.tool_version(name)
    except ToolchainError:
        return None
