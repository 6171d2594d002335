"""bench: times the firmware on a device and checks every answer against the integer reference."""

import shlex
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.config import BenchOptions
from snapcli.data.evaluation import Evaluation
from snapcli.device import Client, Hello, Inference, Profile, Stack
from snapcli.errors import UsageError
from snapcli.measuring.energy import PowerTrace, with_energy
from snapcli.measuring.exact import Reference, check_exact
from snapcli.measuring.firmware import Firmware, attached, built_firmware, target_at
from snapcli.metrics.timing import Timing, timing
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.results.bench import (
    INSTRUCTIONS,
    PROFILED,
    SCHEMA,
    BenchReport,
    kernel_costs,
    stage_costs,
    step_costs,
)
from snapcli.runs import Run
from snapcli.targets import Target

_SAMPLE_SEED = 0
# One of every kind, good and bad: the stack's mark is that of the text commands too.
_TEXT = (
    *("name", "profile", "timestamp", "help", "db load 1", "db 00", "db print"),
    *("infer 1 0", "results", "nonsense"),
)


@dataclass(frozen=True)
class Measured:
    """All that a device answered; answers: one for each input, in order."""

    hello: Hello
    profiles: list[Profile]
    answers: list[Inference]
    stack: Stack
    repeats: int
    restarts: int

    @property
    def timing(self) -> Timing:
        return timing(np.array([a.count for a in self.answers]), self.hello.counter_step)


def bench(
    run: Run,
    target_name: str | None,
    options: BenchOptions,
    port: str | None = None,
    trace: PowerTrace | None = None,
    on_progress: OnProgress = silent,
) -> BenchReport:
    """Without a target, a board at `port` says which one it is. A trace without a port belongs to
    the newest bench there is."""
    target = target_at(run, target_name, port)
    if trace is None:
        return _measured(run, target, options, port, on_progress)
    if target.emulator:
        raise UsageError(
            f"{target.name} is an emulator, which draws no power to measure",
            "Leave --power-trace out, or bench a board: --port PORT",
        )
    if port is None:
        return with_energy(run, target, trace)
    began = time.time()
    _measured(run, target, options, port, on_progress)
    place = shlex.quote(str(trace.path))
    later = f"snap bench --target {target.name} --power-trace {place}"
    try:
        if trace.path.stat().st_mtime < began:
            raise UsageError(f"{trace.path} is older than this bench", "Write the new trace to it.")
        return with_energy(run, target, trace)
    except OSError:
        problem = UsageError(f"there is no trace {trace.path} yet", "Let the analyser write it.")
    except UsageError as error:
        problem = error
    raise UsageError(problem.message, f"{problem.hint} The bench is kept; then: {later}")


def _measured(
    run: Run, target: Target, options: BenchOptions, port: str | None, on_progress: OnProgress
) -> BenchReport:
    firmware = built_firmware(run, target)
    is_board = target.emulator is None
    count = options.board_inputs if is_board else options.inputs
    warmup = options.board_warmup if is_board else options.warmup
    inputs = _inputs(run, count, firmware)
    expected = Reference(firmware.monitor).answers(inputs)
    # At a port there is one device, with one image in it.
    both = port is None and not is_board
    total = 2 * count if both else count

    def timed(heads: bool) -> Measured:
        with attached(firmware, port, heads) as client:
            first = 0 if heads else count
            measured = measure(
                client,
                inputs,
                warmup,
                lambda n: on_progress(
                    first + n, total, f"timed with{'' if heads else 'out'} heads"
                ),
            )
        for i, (answer, reference) in enumerate(zip(measured.answers, expected, strict=True)):
            check_exact(i, answer, reference, firmware.remedy, heads)
        return measured

    report = _report(firmware, warmup, timed(True), timed(False) if both else None)
    run.add_json(
        f"bench/{target.name}", (firmware.stage, *firmware.deployed.stages), asdict(report)
    )
    return report


def measure(
    client: Client, inputs: NDArray[np.int8], warmup: int, done: Callable[[int], None]
) -> Measured:
    """The timed runs come last, so that they are the last ones of a power trace too."""
    hello = client.hello()
    for command in _TEXT:
        client.text(command)
    client.start()
    for x in inputs[np.arange(warmup) % len(inputs)]:
        client.infer(x.tobytes())
    profiles = [
        client.profile(x.tobytes()) for x in np.resize(inputs, (PROFILED, *inputs.shape[1:]))
    ]
    client.start()
    answers = []
    for i, x in enumerate(inputs):
        answers.append(client.infer(x.tobytes()))
        done(i + 1)
    return Measured(hello, profiles, answers, client.stack(), client.repeats, client.restarts)


def _report(
    firmware: Firmware, warmup: int, measured: Measured, plain: Measured | None
) -> BenchReport:
    hello, stack, counted = measured.hello, measured.stack, measured.timing
    size = firmware.sizes.size
    steps = step_costs(measured.profiles, firmware.exported.steps, hello.counter_unit)
    macs = firmware.monitor.body.graph.macs
    us = microseconds(hello)
    return BenchReport(
        schema=SCHEMA,
        run=firmware.run.name,
        target=firmware.target.name,
        part=firmware.target.part,
        model_id=hello.model_id,
        settings_check=hello.settings_check,
        image_crc=hello.image_crc,
        warmup=warmup,
        inputs=len(measured.answers),
        bit_exact=len(measured.answers),
        abstained=sum(answer.abstain for answer in measured.answers),
        foreign=sum(answer.foreign for answer in measured.answers),
        repeats=measured.repeats,
        restarts=measured.restarts,
        counter=hello.counter_unit,
        counter_hz=hello.counter_hz,
        timing=counted,
        timing_us=counted.scaled(us) if us else None,
        macs=macs,
        count_per_mac=counted.mean / macs,
        timing_without_heads=plain.timing if plain else None,
        heads_overhead=counted.mean / plain.timing.mean - 1 if plain else None,
        stages=stage_costs(steps),
        steps=steps,
        kernels=kernel_costs(steps, hello.counter_unit),
        size=size,
        size_without_heads=firmware.sizes.size_without_heads,
        flash_limit_bytes=firmware.target.flash_bytes,
        ram_limit_bytes=firmware.target.ram_bytes,
        stack=stack,
        ram_used_bytes=size.ram_bytes - stack.reserved_bytes + stack.used_bytes,
        energy=None,
        notes=(),
    )


def microseconds(hello: Hello) -> float | None:
    """Of one unit of the counter; None where it counts instructions, which are no time."""
    if hello.is_emulator or hello.counter_unit == INSTRUCTIONS:
        return None
    # A count has counter_step units, and counter_hz counts are a second.
    return 1e6 / (hello.counter_step * hello.counter_hz)


def _inputs(run: Run, count: int, firmware: Firmware) -> NDArray[np.int8]:
    """int8 [count, ...]: clean, corrupted and foreign inputs in a fixed shuffled order.

    The golden vectors in the image come from dev data; these come from test data.
    """
    tensor = firmware.monitor.body.graph.tensors[firmware.monitor.body.graph.input]
    recipe = run_recipe(run)
    evaluation = Evaluation(origin_of(run).dataset(), recipe.calibrate.limit)
    keys = [key for key in evaluation.keys if key.split != "dev"]
    ends = np.cumsum([len(evaluation.rows(key)) for key in keys])
    order = np.random.default_rng(_SAMPLE_SEED).permutation(ends[-1])
    chosen = np.resize(order, count)
    inputs = np.empty((count, *tensor.shape), np.int8)
    for key, end in zip(keys, ends, strict=True):
        first = end - len(evaluation.rows(key))
        mine = np.flatnonzero((chosen >= first) & (chosen < end))
        if len(mine):
            inputs[mine] = tensor.quantize(evaluation.inputs(key)[chosen[mine] - first])
    return inputs
