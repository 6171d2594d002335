"""What heads and whole monitors cost, as the compiler and the emulator say."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli import toolchain
from snapcli.emit import Program, build_program, emit_model
from snapcli.emit.profiled import image_files
from snapcli.emit.profiler import COUNTS, INPUTS, emit_profiler, read_counts
from snapcli.emit.steps import HeadStep, LayerStep, MoveStep, Step, SumStep
from snapcli.errors import ToolchainError, UsageError
from snapcli.fixedpoint import DeviceHead
from snapcli.monitor.body import Body
from snapcli.monitor.decision import plain_decision
from snapcli.monitor.monitor import Monitor
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.pricing.memory import write_texts
from snapcli.score.selection import TapCost
from snapcli.targets import Target, emulated_twin


@dataclass(frozen=True)
class Prices:
    """Bytes of each tap's constants and of all that every set of taps has once (code, map);
    instructions of the backbone, of each pooled tensor, of each tap's head, and behind them.

    Taps count as in the body; arena_bytes is what all of them together add to the arena. Where
    nothing could be compiled or run, operations stand for instructions.
    """

    head_bytes: tuple[int, ...]
    shared_bytes: int
    backbone: int
    sums: dict[str, int]
    heads: tuple[int, ...]
    end: int
    arena_bytes: int
    is_measured: bool = True

    def of(self, body: Body, chosen: list[int]) -> TapCost:
        """Of some taps of the body; a tensor that two of them look at is pooled once."""
        if not chosen:
            return TapCost(0, 0)
        pooled = {t for i in chosen for t in (body.taps[i].before, body.taps[i].after)}
        return TapCost(
            self.shared_bytes + sum(self.head_bytes[i] for i in chosen),
            self.end
            + sum(self.heads[i] for i in chosen)
            + sum(self.sums[tensor] for tensor in pooled),
        )


def measure_or_estimate(
    body: Body, inputs: NDArray[np.int8], target: Target, kernels_name: str, cmsis_nn: Path | None
) -> Prices:
    """measure(), or what the sizes alone say on a machine or for a core that cannot be measured."""
    try:
        return measure(body, inputs, target, kernels_name, cmsis_nn)
    except (ToolchainError, UsageError):
        return _estimate(body, kernels_name, cmsis_nn)


def _estimate(body: Body, kernels_name: str, cmsis_nn: Path | None) -> Prices:
    body = replace(body, distance=None)
    program = build_program(body.graph, body, kernel_set(kernels_name, cmsis_nn)[0])
    tensors = body.graph.tensors
    return Prices(
        head_bytes=tuple(low.constant_bytes for low in program.heads),
        shared_bytes=0,
        backbone=body.graph.macs,
        sums={name: tensors[name].size_bytes for name in sorted(body.tapped)},
        heads=tuple(_multiplications(head) for head in body.heads),
        end=0,
        arena_bytes=program.full.arena_bytes - program.plain.arena_bytes,
        is_measured=False,
    )


def _multiplications(head: DeviceHead) -> int:
    parts = head.residual
    return parts.projector.size + parts.mean_weights.size + parts.xi_weights.size


def measure(
    body: Body,
    inputs: NDArray[np.int8],
    target: Target,
    kernels_name: str,
    cmsis_nn: Path | None = None,
) -> Prices:
    """inputs [n, *input shape]: their mean is counted. Of heads alone: no map reads distances."""
    body = replace(body, distance=None)
    monitor = Monitor(body, plain_decision(len(body.taps)))
    built = _built(monitor, inputs, target, kernels_name, cmsis_nn)
    program = built.program
    # Each has a table of its own, which stands with those that all share.
    head_bytes = tuple(
        low.constant_bytes + head.residual.inverse_sigma_q9.nbytes
        for low, head in zip(program.heads, body.heads, strict=True)
    )
    heads = {s.index: n for s, n in built.steps if isinstance(s, HeadStep)}
    return Prices(
        head_bytes=head_bytes,
        shared_bytes=built.flash_bytes - sum(head_bytes),
        backbone=built.backbone,
        sums={s.tensor: n for s, n in built.steps if isinstance(s, SumStep)},
        heads=tuple(heads[i] for i in range(len(body.taps))),
        end=built.end,
        arena_bytes=program.full.arena_bytes - program.plain.arena_bytes,
    )


@dataclass(frozen=True)
class MonitorPrice:
    """What a whole monitor adds: bytes of flash, and a share of the backbone's instructions, or of
    its operations where nothing could be compiled or run."""

    flash_bytes: int
    overhead: float
    is_measured: bool


def price_or_estimate(
    monitor: Monitor,
    inputs: NDArray[np.int8],
    target: Target,
    kernels_name: str,
    cmsis_nn: Path | None,
) -> MonitorPrice:
    try:
        built = _built(monitor, inputs, target, kernels_name, cmsis_nn)
    except (ToolchainError, UsageError):
        return _estimated_price(monitor.body, kernels_name, cmsis_nn)
    added = built.end + sum(n for s, n in built.steps if not isinstance(s, LayerStep | MoveStep))
    return MonitorPrice(built.flash_bytes, added / built.backbone, is_measured=True)


def _estimated_price(body: Body, kernels_name: str, cmsis_nn: Path | None) -> MonitorPrice:
    program = build_program(body.graph, body, kernel_set(kernels_name, cmsis_nn)[0])
    operations = sum(body.graph.tensors[name].size_bytes for name in body.tapped)
    operations += sum(map(_multiplications, body.heads))
    added = sum(low.constant_bytes for low in program.heads)
    if body.distance and program.distance:
        head = body.distance.parameters
        operations += head.rank * (head.channels + head.classes)
        added += program.distance.constant_bytes
    return MonitorPrice(added, operations / body.graph.macs, is_measured=False)


@dataclass(frozen=True)
class _Built:
    """flash_bytes: of the model with the monitor less those of the model alone. steps with their
    instructions; end: of what comes behind the last one."""

    program: Program
    flash_bytes: int
    steps: list[tuple[Step, int]]
    end: int

    @property
    def backbone(self) -> int:
        return sum(n for s, n in self.steps if isinstance(s, LayerStep | MoveStep))


def _built(
    monitor: Monitor,
    inputs: NDArray[np.int8],
    target: Target,
    kernels_name: str,
    cmsis_nn: Path | None,
) -> _Built:
    twin = emulated_twin(target)
    kernels, library = kernel_set(kernels_name, cmsis_nn)
    body = monitor.body
    program = build_program(body.graph, body, kernels)
    whole = image_files(program, monitor, emit_model(program, monitor, inputs[:1]))
    bare = emit_model(build_program(body.graph, None, kernels), None, None).files
    with tempfile.TemporaryDirectory(prefix="snap-costs-") as name:
        folder = Path(name)
        with_monitor, without = (
            _compiled(files, library, target, folder / part)
            for part, files in (("whole", whole), ("bare", bare))
        )
        counts = _counted(program, whole, inputs, library, twin, folder / "counted")
    steps = list(zip(program.steps, counts, strict=False))
    return _Built(program, with_monitor - without, steps, sum(counts[len(steps) :]))


def _compiled(
    generated: Mapping[str, str], library: Mapping[str, str], target: Target, folder: Path
) -> int:
    return toolchain.compiled_bytes(target, *_written(generated, library, folder))


def _written(
    generated: Mapping[str, str], library: Mapping[str, str], folder: Path
) -> tuple[list[Path], list[Path]]:
    """(C files, include folders) of generated files and the kernels that they need."""
    files = {**generated, **kernel_files(library, generated)}
    write_texts(files, folder)
    includes = sorted({p.parent for p in folder.rglob("*.h")})
    return [folder / name for name in files if name.endswith(".c")], includes


def _counted(
    program: Program,
    generated: Mapping[str, str],
    inputs: NDArray[np.int8],
    library: Mapping[str, str],
    target: Target,
    folder: Path,
) -> list[int]:
    """Instructions per inference of every step and of what comes behind the last one."""
    main = {"main.c": emit_profiler(program)}
    sources, includes = _written({**generated, **main}, library, folder)
    (folder / INPUTS).write_bytes(inputs.tobytes())
    command = toolchain.build_semihosted(target, sources, includes, folder, counted=True)
    toolchain.run_program(command, folder)
    return read_counts((folder / COUNTS).read_bytes(), len(inputs))
