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
from snapcli.flashers import stlinks
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
        _flashers(),
        _probes(),
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
    newlib = toolchain.newlib()
    return Check(
        "newlib (nano)", "present" if newlib else None, "flash", None if newlib else remedy
    )


def _cmsis_nn() -> Check:
    is_cached = cached_cmsis_nn() is not None
    return Check(
        CMSIS_NN,
        CMSIS_NN_VERSION if is_cached else None,
        "export-c --kernels cmsis-nn",
        None if is_cached else "snap kernels fetch",
        optional=True,
    )


def _flashers() -> Check:
    """Any one is enough. A drive is always there, but verifies less than the others."""
    needed_for = "flash on a board"
    tools = [_package("pyocd", needed_for, "")]
    tools += [_tool(name, needed_for) for name in (toolchain.OPENOCD, toolchain.ST_FLASH)]
    versions = [f"{tool.name} {tool.version}" for tool in tools if tool.version]
    remedy = None if versions else install_command("[flash]")
    return Check("flashers", ", ".join([*versions, "drive"]), needed_for, remedy, optional=True)


def _probes() -> Check:
    attached = ", ".join(f"ST-LINK {link.serial} at {link.port}" for link in stlinks())
    return Check("probes", attached or "none attached", "flash on a board", None, optional=True)


def _warnings() -> list[str]:
    """Another program of our name, such as Ubuntu's package manager, that hides ours; probes that
    are there, but not for this user."""
    warnings = []
    first = shutil.which("snap")
    ours = Path(sys.executable).with_name("snap")
    if first and ours.exists() and Path(first).resolve() != ours.resolve():
        warnings.append(
            f"another program named snap comes first on PATH ({first}): use snapuq instead"
        )
    warnings += [
        f"no permission to use the ST-LINK {link.serial}. {toolchain.UDEV_HINT}"
        for link in stlinks()
        if not link.allowed
    ]
    return warnings
