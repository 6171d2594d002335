"""Options of the commands that compare methods, and heads at other places."""

from dataclasses import dataclass
from typing import ClassVar

from snapcli.config.device import kernels_option, target_option
from snapcli.config.option import StageOptions, option

# Whose scores eval judges: the float model's, the integer reference's, a device's.
FLOAT, INT8, DEVICE = SOURCES = ("float", "int8", "device")
ABLATIONS = ("taps", "rank", "head", "quant", "map", "blend", "mode")

_METHODS = "all, single-pass, trained, or names separated by commas (snap methods lists them)."
_LIMIT = "Examples of each corruption and each foreign set."
_REPLICATES = "Draws of the bootstrap."
_STREAMS = "Test streams of 7,400 frames."


@dataclass(frozen=True)
class TapsOptions(StageOptions):
    stage: ClassVar[str] = "taps"

    target: str = target_option()
    kernels: str = kernels_option()
    per: str = option(
        "flash", "What a tap's gain is set against:", one_of=("flash", "instructions")
    )
    max_flash: float = option(
        1024.0, "Most flash that heads and map may take, in KB.", limits=(0.0, 1e6)
    )
    max_overhead: float = option(
        100.0,
        "Most instructions that they may add, in percent of the backbone's.",
        limits=(0.0, 1e4),
    )
    limit: int = option(500, "Examples of each corrupted dev condition.", limits=(1, 1_000_000))


@dataclass(frozen=True)
class CostOptions(StageOptions):
    stage: ClassVar[str] = "cost"

    methods: tuple[str, ...] = option((), _METHODS, shown="all but snap with other maps or heads")
    targets: tuple[str, ...] = option(
        ("small-mcu", "big-mcu"),
        "A board or an emulated one; repeat it for several.",
        flag="--target",
        repeated=True,
    )
    kernels: str = kernels_option()


@dataclass(frozen=True)
class EvalOptions(StageOptions):
    """None: as in the table that is there, else the default that is shown."""

    stage: ClassVar[str] = "eval"

    methods: tuple[str, ...] = option(("single-pass",), _METHODS)
    on: tuple[str, ...] = option(
        (),
        "float, int8 or device (a recorded stream), separated by commas.",
        one_of=SOURCES,
        shown="those that the run has",
    )
    limit: int | None = option(None, _LIMIT, limits=(1, 1_000_000), shown="calibrate's")
    replicates: int | None = option(None, _REPLICATES, limits=(10, 100_000), shown="1000")
    streams: int | None = option(None, _STREAMS, limits=(0, 20), shown="3")
    anew: bool = option(False, "Discard the existing table and start again.")


@dataclass(frozen=True)
class AblateOptions(StageOptions):
    stage: ClassVar[str] = "ablate"

    kind: str = option(
        ABLATIONS[0], "What to vary:", one_of=ABLATIONS, shown="required", flag="KIND"
    )
    target: str = target_option()
    kernels: str = kernels_option()
    limit: int = option(0, _LIMIT, limits=(0, 1_000_000), shown="calibrate's")
    replicates: int = option(1000, _REPLICATES, limits=(10, 100_000))
    streams: int = option(3, _STREAMS, limits=(0, 20))
