"""Whether a model fits a target: the flash that it takes, compiled or estimated, and the RAM."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snapcli import toolchain
from snapcli.emit import Program, emit_model
from snapcli.errors import ConfigError, ToolchainError
from snapcli.pricing.kernel_set import kernel_files
from snapcli.targets import Target

# What our firmware needs beside model and kernels: link, startup and application in flash; the
# link's buffers, the result and what a stream remembers in RAM. Rounded up from the sizes that
# `snap flash` reports.
_FIRMWARE_BYTES = 11 * 1024


_STATIC_BYTES = 1024


# Kernels, where no compiler is there to measure them.
KERNEL_BYTES = 8 * 1024


_TOO_LARGE = "Choose a larger target or a smaller model; --explain shows who holds the memory."


@dataclass(frozen=True)
class Surroundings:
    """Memory of the firmware around a model; none for a model alone, which is its user's."""

    flash_bytes: int = 0
    ram_bytes: int = 0


def our_firmware(input_bytes: int, golden_bytes: int) -> Surroundings:
    """It keeps an input for MLPerf's commands and the golden vectors for its self-test."""
    return Surroundings(_FIRMWARE_BYTES + golden_bytes, _STATIC_BYTES + input_bytes)


def measured_flash(
    program: Program, library: Mapping[str, str], target: Target, folder: Path
) -> int:
    """Flash of model and kernels on the target, compiled in the folder, or estimated."""
    emitted = emit_model(program, None, None)
    files = {**emitted.files, **kernel_files(library, emitted.files)}
    write_texts(files, folder)
    sources = [folder / name for name in files if name.endswith(".c")]
    return compiled_flash(emitted.constant_bytes, target, sources, folder)[0]


def write_texts(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def compiled_flash(
    constant_bytes: int, target: Target, sources: list[Path], out: Path
) -> tuple[int, bool]:
    """Flash of the sources, which lie in `out` with their headers, and whether it was measured:
    without a compiler it is an estimate from the constants."""
    try:
        includes = [out, *sorted({p.parent for p in out.rglob("*.h")})]
        return toolchain.compiled_bytes(target, sources, includes), True
    except ToolchainError:
        # No compiler here: the folder is still good for one elsewhere.
        if shutil.which(toolchain.GCC):
            raise
        return constant_bytes + KERNEL_BYTES, False


def flash_origin(constant_bytes: int, measured: bool) -> str:
    """How compiled_flash() found its figure, for a README."""
    if not measured:
        return f"constants {constant_bytes:,} B and an estimate of the code"
    compiler = f"{toolchain.GCC} {toolchain.tool_version(toolchain.GCC)} -O2"
    return f"constants {constant_bytes:,} B and code, compiled with {compiler}"


def check_fit(
    target: Target,
    flash_bytes: int,
    arena_bytes: int,
    around: Surroundings,
    hint: str = _TOO_LARGE,
) -> None:
    """Raises an error that says by how much the target's limits are exceeded, where it has any."""
    limits = {"flash": target.flash_bytes, "RAM": target.ram_bytes}
    over = [
        f"{more:,} B more {kind} than its {limits[kind]:,} B"
        for kind, more in excess(target, flash_bytes, arena_bytes, around).items()
    ]
    if over:
        raise ConfigError(
            f"the model does not fit {target.name}: it needs {' and '.join(over)}", hint
        )


def excess(
    target: Target, flash_bytes: int, arena_bytes: int, around: Surroundings
) -> dict[str, int]:
    """{flash, RAM: bytes beyond the target's limit}, of those that are exceeded."""
    flash = flash_bytes + around.flash_bytes - target.flash_bytes
    ram = arena_bytes + target.stack_bytes + around.ram_bytes - target.ram_bytes
    limits = (("flash", flash, target.flash_bytes), ("RAM", ram, target.ram_bytes))
    return {kind: more for kind, more, limit in limits if limit and more > 0}
