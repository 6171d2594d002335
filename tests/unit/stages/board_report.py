"""The report of a bench on a board that nobody has."""

import numpy as np

from snapcli.device import Stack
from snapcli.metrics.timing import timing
from snapcli.stages.bench_report import SCHEMA, BenchReport, stage_costs, step_costs
from snapcli.stages.flash import ImageSize

from .fake_device import HELLO, FakeDevice, controlled

EXPORTED = {
    "steps": [
        {"name": "stem CONV_2D", "stage": "backbone"},
        {"name": "stem head", "stage": "heads"},
        {"name": "score and map", "stage": "map"},
    ],
    "layers": [{"name": "stem", "operator": "CONV_2D", "macs": 200}],
}


CYCLES = timing(np.array([8000, 8000, 8000, 8000]))


def report(inputs: int = 4, warmup: int = 2) -> BenchReport:
    """Of a board at 80 MHz whose inferences take 100 us."""
    costs = step_costs([FakeDevice(controlled()).profile(bytes(HELLO.input_bytes))], EXPORTED)
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
        repeats=0,
        restarts=0,
        counter="cycles",
        counter_hz=80_000_000,
        timing=CYCLES,
        timing_us=CYCLES.scaled(1 / 80),
        macs=1000,
        count_per_mac=8.0,
        timing_without_heads=None,
        heads_overhead=None,
        stages=stage_costs(costs),
        steps=costs,
        size=ImageSize(30_000, 9_000),
        size_without_heads=ImageSize(20_000, 9_000),
        flash_limit_bytes=262_144,
        ram_limit_bytes=65_536,
        stack=Stack(500, 4096),
        ram_used_bytes=5_404,
        energy=None,
        notes=(),
    )
