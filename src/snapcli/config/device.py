"""Options of the commands that make integers and C of a run, and measure them."""

from dataclasses import dataclass
from typing import Any, ClassVar

from snapcli.config.option import SEED_MAX, StageOptions, option
from snapcli.targets import target_names

SNAP, REFERENCE, CMSIS_NN = KERNEL_SETS = ("snap", "reference", "cmsis-nn")
DEFAULT_TARGET = "qemu-m4"
TARGET_HELP = "Board, emulated board or core: " + ", ".join(target_names()) + "."
_RUN = "the run's"


def target_option(recipe: str = _RUN) -> Any:
    return option(DEFAULT_TARGET, TARGET_HELP, recipe=recipe)


def kernels_option(recipe: str = _RUN) -> Any:
    return option(
        SNAP,
        "Kernels: snap (ours), reference (plain C) or cmsis-nn (Arm's, where it has them).",
        one_of=KERNEL_SETS,
        recipe=recipe,
    )


@dataclass(frozen=True)
class QuantizeOptions(StageOptions):
    stage: ClassVar[str] = "quantize"

    samples: int = option(
        500, "Training images that set the activation ranges.", limits=(1, 100_000)
    )


@dataclass(frozen=True)
class ExportOptions(StageOptions):
    """The kernels of snap are for cores with the DSP extension; others get the reference."""

    stage: ClassVar[str] = "export-c"

    target: str = target_option()
    kernels: str = kernels_option()


@dataclass(frozen=True)
class VerifyOptions(StageOptions):
    stage: ClassVar[str] = "verify"

    target: str = option(DEFAULT_TARGET, "Emulated board: qemu-m4 or qemu-m7.")
    kernels: str = kernels_option(recipe="")
    inputs: int = option(10, "Random inputs to compare.", limits=(1, 10_000))
    seed: int = option(0, "Seed of the random inputs.", limits=(0, SEED_MAX))


@dataclass(frozen=True)
class BenchOptions(StageOptions):
    """An emulator counts exactly and slowly, so a board has numbers of its own."""

    stage: ClassVar[str] = "bench"

    inputs: int = option(
        500,
        "Inferences to time and to check.",
        limits=(1, 100_000),
        group="Timing",
        shown="500; on a board 1000",
    )
    warmup: int = option(
        5,
        "Inferences before the timed ones.",
        limits=(0, 100_000),
        group="Timing",
        shown="5; on a board 100",
    )
    board_inputs: int = option(
        1000,
        "Inferences to time and to check on a board.",
        limits=(1, 100_000),
        group="Timing",
        flag=None,
    )
    board_warmup: int = option(
        100,
        "Inferences before the timed ones on a board.",
        limits=(0, 100_000),
        group="Timing",
        flag=None,
    )
