"""bench/<target>-NNN.json: what an inference took on a device, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from snapcli.device import Profile, Stack
from snapcli.emit.folder import StepRow
from snapcli.errors import ArtifactError
from snapcli.metrics.power import EnergyPerInference
from snapcli.metrics.timing import Timing
from snapcli.results.flash import ImageSize
from snapcli.runs import Run
from snapcli.stored import conform, read_as

SCHEMA = 4
# Inputs whose steps are counted one by one.
PROFILED = 10
# The unit of an emulator's counter, in which bounds are written, too.
INSTRUCTIONS = "instructions"


@dataclass(frozen=True)
class MeasuredCost:
    """Of a stage, a step or a kernel: its mean count, and its share of all.

    macs: multiply-accumulates, 0 for what is not a layer.
    """

    name: str
    mean: float
    share: float
    macs: int

    @property
    def per_mac(self) -> float | None:
        return self.mean / self.macs if self.macs else None


@dataclass(frozen=True)
class BoundedCost(MeasuredCost):
    """bound: instructions per MAC of the kernel's inner loop, None where it is not known.
    times_bound: how many times the bound a MAC takes; only where instructions are counted.
    """

    bound: float | None
    times_bound: float | None


@dataclass(frozen=True)
class StepCost(BoundedCost):
    """Of one step of the network; kernel: the C function that computes it."""

    stage: str
    kernel: str


@dataclass(frozen=True)
class KernelCost(BoundedCost):
    """Of all steps that a C function computes; calls: how many they are."""

    calls: int


@dataclass(frozen=True)
class BenchReport:
    """counter says what timings count: instructions (emulator), cycles or nanoseconds (board).
    timing_us is the same in microseconds, None for instructions, which are no time.

    stages, steps and kernels come from a few runs with a probe, whose own counts are among them.

    ram_used_bytes: static data and the stack that was really used; size.ram_bytes has the
    reserved one. heads_overhead is the mean over the same inputs against the image without heads,
    minus 1; None where that image cannot run beside this one (a board).

    bit_exact, abstained, foreign: how many answers were so, of inputs that are clean, corrupted
    and foreign. energy: None unless a power trace was given. notes: what its reader should know.
    """

    schema: int
    run: str
    target: str
    part: str
    model_id: str
    settings_check: int
    image_crc: int
    warmup: int
    inputs: int
    bit_exact: int
    abstained: int
    foreign: int
    repeats: int
    restarts: int
    counter: str
    counter_hz: int
    timing: Timing
    timing_us: Timing | None
    macs: int
    count_per_mac: float
    timing_without_heads: Timing | None
    heads_overhead: float | None
    stages: tuple[MeasuredCost, ...]
    steps: tuple[StepCost, ...]
    kernels: tuple[KernelCost, ...]
    size: ImageSize
    size_without_heads: ImageSize
    flash_limit_bytes: int
    ram_limit_bytes: int
    stack: Stack
    ram_used_bytes: int
    energy: EnergyPerInference | None
    notes: tuple[str, ...]


def step_costs(
    profiles: Sequence[Profile], exported: Sequence[StepRow], counter: str
) -> tuple[StepCost, ...]:
    """In the order of work; exported: the steps as export-c named them."""
    means = np.mean([profile.step_counts for profile in profiles], axis=0)
    total = max(float(means.sum()), 1.0)
    costs = []
    if len(exported) != len(means):
        raise ArtifactError(
            f"the export has {len(exported)} steps, the device {len(means)}",
            "Run: snap export-c",
        )
    for step, mean in zip(exported, means.tolist(), strict=True):
        cost = MeasuredCost(step.name, mean, mean / total, step.macs)
        costs.append(
            StepCost(
                **vars(cost),
                bound=step.bound,
                times_bound=_times_bound(cost, step.bound, counter),
                stage=step.stage,
                kernel=step.kernel,
            )
        )
    return tuple(costs)


def _times_bound(cost: MeasuredCost, bound: float | None, counter: str) -> float | None:
    if cost.per_mac is None or bound is None or counter != INSTRUCTIONS:
        return None
    return cost.per_mac / bound


def stage_costs(steps: Sequence[StepCost]) -> tuple[MeasuredCost, ...]:
    """The sums of each stage, in the order in which they first come."""
    stages = dict.fromkeys(step.stage for step in steps)
    return tuple(_sum(name, [s for s in steps if s.stage == name]) for name in stages)


def kernel_costs(steps: Sequence[StepCost], counter: str) -> tuple[KernelCost, ...]:
    """The sums of each kernel, the most expensive first."""
    costs = []
    for name in dict.fromkeys(step.kernel for step in steps):
        mine = [step for step in steps if step.kernel == name]
        cost, bound = _sum(name, mine), mine[0].bound
        times = _times_bound(cost, bound, counter)
        costs.append(KernelCost(**vars(cost), bound=bound, times_bound=times, calls=len(mine)))
    return tuple(sorted(costs, key=lambda cost: -cost.mean))


def _sum(name: str, costs: Sequence[MeasuredCost]) -> MeasuredCost:
    return MeasuredCost(
        name=name,
        mean=sum(cost.mean for cost in costs),
        share=sum(cost.share for cost in costs),
        macs=sum(cost.macs for cost in costs),
    )


def report_from(values: Any) -> BenchReport:
    """The report that a bench stored; raises ValueError if it is not one."""
    if values.get("schema") != SCHEMA:
        raise ArtifactError("that bench was stored by another version of snap", "Run: snap bench")
    report: BenchReport = conform(BenchReport, values)
    return report


def bench_report(run: Run, stage: str) -> BenchReport:
    """Of a stage of the run that is done."""
    record = run.record(stage)
    assert record is not None
    return read_as(run.path(next(iter(record["outputs"]))), BenchReport)
