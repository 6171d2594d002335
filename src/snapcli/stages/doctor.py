"""doctor: what is installed, which version, what is missing and how to get it."""

import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from snapcli import toolchain
from snapcli.assets import install_command
from snapcli.config import CMSIS_NN
from snapcli.errors import ToolchainError
from snapcli.kernels import CMSIS_NN_VERSION, cached_cmsis_nn

_CORE = (
    "numpy",
    "scikit-learn",
    "scipy",
    "pillow",
    "ai-edge-litert",
    "platformdirs",
    "pyserial",
    "typer",
    "rich",
)
_TRAIN = ("tensorflow", "tf_keras")


@dataclass(frozen=True)
class Check:
    """version is None where the thing is missing; remedy is the command that installs it.
    optional: snap is whole without it."""

    name: str
    version: str | None
    needed_for: str
    remedy: str | None
    optional: bool = False


@dataclass(frozen=True)
class DoctorReport:
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]

    @property
    def missing(self) -> bool:
        return any(c.version is None and not c.optional for c in self.checks)


def doctor() -> DoctorReport:
    python = ".".join(map(str, sys.version_info[:3]))
    checks = [Check("python", python, "everything", None)]
    checks += [_package(name, "everything", install_command()) for name in _CORE]
    extra = install_command("[train]")
    checks += [_package(name, "train, calibrate, quantize", extra) for name in _TRAIN]
    checks += [
        _tool(toolchain.CC, "verify"),
        _tool(toolchain.GCC, "flash, verify"),
        _newlib(),
        _tool(toolchain.QEMU, "flash, bench and verify on qemu-*"),
        _cmsis_nn(),
    ]
    return DoctorReport(tuple(checks), tuple(_warnings()))


def _package(name: str, needed_for: str, remedy: str) -> Check:
    try:
        return Check(name, version(name), needed_for, None)
    except PackageNotFoundError:
        return Check(name, None, needed_for, remedy)


def _tool(name: str, needed_for: str) -> Check:
    try:
        toolchain.find_tool(name)
        return Check(name, toolchain.tool_version(name), needed_for, None)
    except ToolchainError as error:
        return Check(name, None, needed_for, error.hint)


def _newlib() -> Check:
    remedy = "sudo apt-get install libnewlib-arm-none-eabi"
    found = toolchain.newlib()
    return Check("newlib (nano)", "present" if found else None, "flash", None if found else remedy)


def _cmsis_nn() -> Check:
    found = cached_cmsis_nn() is not None
    return Check(
        CMSIS_NN,
        CMSIS_NN_VERSION if found else None,
        "export-c --kernels cmsis-nn",
        None if found else "snap kernels fetch",
        optional=True,
    )


def _warnings() -> list[str]:
    """Another program of our name, such as Ubuntu's package manager, that hides ours."""
    first = shutil.which("snap")
    ours = Path(sys.executable).with_name("snap")
    if first and ours.exists() and Path(first).resolve() != ours.resolve():
        return [f"another program named snap comes first on PATH ({first}): use snapuq instead"]
    return []
