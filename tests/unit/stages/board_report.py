"""The report of a bench on a board that nobody has."""

import numpy as np

from snapcli.device import Stack
from snapcli.emit.folder import StepRow
from snapcli.metrics.timing import timing
from snapcli.results.bench import SCHEMA, BenchReport, kernel_costs, stage_costs, step_costs
from snapcli.results.flash import ImageSize

from .fake_device import HELLO, FakeDevice, controlled


def step(name: str, stage: str, kernel: str, macs: int = 0, bound: float | None = None) -> StepRow:
    return StepRow(name, stage, kernel, macs, bound)


EXPORTED = [
    step("stem CONV_2D", "backbone", "snapnn_conv_s8", 200, 0.8),
    step("stem head", "heads", "snapuq_residual_s8"),
    step("score and map", "map", "snapuq_map_gated_q16"),
]

CYCLES = timing(np.array([8000, 8000, 8000, 8000]))


def report(inputs: int = 4, warmup: int = 2, counter: str = "cycles") -> BenchReport:
    """Of a board at 80 MHz whose inferences take 100 us."""
    profiles = [FakeDevice(controlled()).profile(bytes(HELLO.input_bytes))]
    costs = step_costs(profiles, EXPORTED, counter)
    return BenchReport(
        schema=SCHEMA,
        run="digits-001",
        target="small-mcu",
        part="STM32L432KC",
        model_id=HELLO.model_id,
        settings_check=1,
        image_crc=2,
        warmup=warmup,
        inputs=inputs,
        bit_exact=inputs,
        abstained=inputs // 4,
        foreign=1,
        repeats=0,
        restarts=0,
        counter=counter,
        counter_hz=80_000_000,
        timing=CYCLES,
        timing_us=CYCLES.scaled(1 / 80),
        macs=1000,
        count_per_mac=8.0,
        timing_without_heads=None,
        heads_overhead=None,
        stages=stage_costs(costs),
        steps=costs,
        kernels=kernel_costs(costs, counter),
        size=ImageSize(30_000, 9_000),
        size_without_heads=ImageSize(20_000, 9_000),
        flash_limit_bytes=262_144,
        ram_limit_bytes=65_536,
        stack=Stack(500, 4096),
        ram_used_bytes=5_404,
        energy=None,
        notes=(),
    )
