"""Boards, and cores without one: a TOML file each, named like the target."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from snapcli.errors import UsageError, suggestion
from snapcli.targets.cores import core_of

_FOLDER = Path(__file__).parent
LIMITS = ("flash_bytes", "ram_bytes", "stack_bytes", "settings_bytes")


@dataclass(frozen=True)
class Flashing:
    """How the board of a target is found and what its part says of itself."""

    board: str  # as ST names it
    board_id: str  # the first four digits of the code on the ST-LINK's drive
    drive: str  # label of that drive
    pyocd: str  # pyOCD's name of the part
    openocd: str  # OpenOCD's configuration of the board
    dev_id: int  # the low 12 bits of DBGMCU_IDCODE
    flash_size_at: int  # address of the u16 that holds the KB of flash


@dataclass(frozen=True)
class Target:
    """A board, an emulated one, or a core for whose parts a library is built."""

    name: str
    part: str
    core: str
    port: str = ""  # folder in firmware/port; none: the part's owner writes it
    # What the counter of the port counts.
    counter: Literal["instructions", "cycles"] = "cycles"
    # Limits; 0: not known, of a core without a board.
    flash_bytes: int = 0  # for images
    ram_bytes: int = 0
    stack_bytes: int = 0  # reserved inside of ram_bytes
    settings_bytes: int = 0  # of flash behind flash_bytes: two pages that are erased apart
    clock_hz: int | None = None  # None: emulated, instructions are no time
    extra_script: str | None = None  # of the linker, in the port's folder
    emulator: str | None = None  # QEMU machine
    limits_of: str | None = None  # the target whose memory an emulated one enforces
    flashing: Flashing | None = None  # None: there is no board to flash

    def __post_init__(self) -> None:
        core_of(self.core)

    @property
    def cpu_flags(self) -> tuple[str, ...]:
        """What tells gcc the core."""
        return core_of(self.core).flags

    @property
    def has_dsp(self) -> bool:
        """Whether the core has the DSP extension, for which the kernels have loops of their own."""
        return core_of(self.core).has_dsp


def target_names() -> list[str]:
    """All known targets, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def emulated_twin(target: Target) -> Target:
    """The emulated target that runs the same instructions; an emulated one is its own."""
    if target.emulator:
        return target
    emulated = [t for t in map(load_target, target_names()) if t.emulator]
    for twin in emulated:
        if twin.cpu_flags == target.cpu_flags:
            return twin
    raise UsageError(
        f"no emulator here runs the code of {target.name}",
        f"Choose {' or '.join(twin.name for twin in emulated)}.",
    )


def load_target(name: str) -> Target:
    """The target of that name; UsageError names the known ones otherwise."""
    known = target_names()
    if name not in known:
        raise UsageError(f"unknown target '{name}'", suggestion(name, known))
    fields = _fields(name)
    if variant_of := fields.pop("variant_of", None):
        fields = _fields(variant_of) | fields
    if "limits_of" in fields:
        limits = load_target(fields["limits_of"])
        fields |= {key: getattr(limits, key) for key in LIMITS}
    if "flashing" in fields:
        fields["flashing"] = Flashing(**fields["flashing"])
    return Target(name=name, **fields)


def _fields(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))
