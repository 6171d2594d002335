"""What bench reports and stores, and how it is read back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from snapcli.device import Profile, Stack
from snapcli.errors import ArtifactError
from snapcli.metrics.power import Energy
from snapcli.metrics.timing import Histogram, Timing
from snapcli.stages.flash import ImageSize

SCHEMA = 2
# Inputs whose steps are counted one by one.
PROFILED = 10


@dataclass(frozen=True)
class Cost:
    """Of one step of the network, or of a stage: its mean count, and its share of all.

    macs: multiply-accumulates, 0 for what is no layer.
    """

    name: str
    stage: str
    mean: float
    share: float
    macs: int


@dataclass(frozen=True)
class BenchReport:
    """counter says what timings count: instructions (emulator), cycles or nanoseconds (board).
    timing_us is the same in microseconds, None for instructions, which are no time.

    steps and stages come from a few runs with a probe, whose own counts are among them.

    ram_used_bytes: static data and the stack that was really used; size.ram_bytes has the
    reserved one. heads_overhead is the mean over the same inputs against the image without heads,
    minus 1; None where that image cannot run beside this one (a board).

    energy: None unless a power trace was given. notes: what its reader should know.
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
    stages: tuple[Cost, ...]
    steps: tuple[Cost, ...]
    size: ImageSize
    size_without_heads: ImageSize
    flash_limit_bytes: int
    ram_limit_bytes: int
    stack: Stack
    ram_used_bytes: int
    energy: Energy | None
    notes: tuple[str, ...]


def step_costs(profiles: Sequence[Profile], exported: Mapping[str, Any]) -> tuple[Cost, ...]:
    """In the order of work, named as export-c named them."""
    means = np.mean([profile.step_counts for profile in profiles], axis=0)
    total = max(float(means.sum()), 1.0)
    macs = {f"{row['name']} {row['operator']}": row["macs"] for row in exported["layers"]}
    return tuple(
        Cost(
            step["name"], step["stage"], float(mean), float(mean) / total, macs.get(step["name"], 0)
        )
        for step, mean in zip(exported["steps"], means, strict=True)
    )


def stage_costs(steps: tuple[Cost, ...]) -> tuple[Cost, ...]:
    """The sums of each stage, in the order in which they first come."""
    found = []
    for stage in dict.fromkeys(step.stage for step in steps):
        mine = [step for step in steps if step.stage == stage]
        found.append(
            Cost(
                name=stage,
                stage=stage,
                mean=sum(step.mean for step in mine),
                share=sum(step.share for step in mine),
                macs=sum(step.macs for step in mine),
            )
        )
    return tuple(found)


def report_from(values: Any) -> BenchReport:
    """The report that a bench stored."""
    if values.get("schema") != SCHEMA:
        raise ArtifactError("that bench was stored by another version of snap", "Run: snap bench")

    def timed(value: Any) -> Timing | None:
        if value is None:
            return None
        bins = value["histogram"]
        held = Histogram(tuple(bins["edges"]), tuple(bins["counts"]))
        return Timing(**{**value, "histogram": held})

    return BenchReport(
        **{
            **values,
            **{name: timed(values[name]) for name in ("timing", "timing_us")},
            "timing_without_heads": timed(values["timing_without_heads"]),
            **{name: tuple(Cost(**c) for c in values[name]) for name in ("stages", "steps")},
            "size": ImageSize(**values["size"]),
            "size_without_heads": ImageSize(**values["size_without_heads"]),
            "stack": Stack(**values["stack"]),
            "energy": Energy(**values["energy"]) if values["energy"] else None,
            "notes": tuple(values["notes"]),
        }
    )
