"""cost/cost.json: what each method takes of each target."""

from dataclasses import dataclass

SCHEMA = 2


COST_FILE = "cost.json"


FITS, TOO_LARGE, NOT_BUILT = "fits", "does not fit", "not built"


@dataclass(frozen=True)
class CostRow:
    """status: FITS, TOO_LARGE or NOT_BUILT; why: by how much, or what it lacks. flash_bytes: code
    and constants; ram_bytes: arena and the stack that was used; instructions: of an inference;
    overhead: on top of the backbone's instructions, as a share of them. None: not built."""

    method: str
    computes: str
    status: str
    why: str
    flash_bytes: int | None = None
    ram_bytes: int | None = None
    instructions: int | None = None
    overhead: float | None = None


@dataclass(frozen=True)
class TargetCost:
    """flash_limit_bytes, ram_limit_bytes: of the target, 0 where it has none; firmware_*: what our
    firmware needs of them beside any method, the reserved stack included. backbone: without
    a score, the first of the rows."""

    target: str
    part: str
    counted_on: str
    flash_limit_bytes: int
    ram_limit_bytes: int
    firmware_flash_bytes: int
    firmware_ram_bytes: int
    rows: tuple[CostRow, ...]


@dataclass(frozen=True)
class CostReport:
    """inputs: how many were counted."""

    schema: int
    run: str
    kernels: str
    inputs: int
    targets: tuple[TargetCost, ...]
