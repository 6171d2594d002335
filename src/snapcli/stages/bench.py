"""bench: times the firmware on a device and checks every answer against the integer reference."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.config import BenchOptions
from snapcli.data import load_dataset
from snapcli.data.evaluation import Evaluation
from snapcli.device import Client, Emulator, Hello, Inference, Stack, open_port
from snapcli.errors import CheckError, DeviceError, UsageError
from snapcli.graph.monitor import DeviceScores, load_monitor
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run, read_json
from snapcli.stages.flash import WITH_HEADS, WITHOUT_HEADS, ImageSize
from snapcli.stages.recipe import run_recipe
from snapcli.targets import Target, load_target

SCHEMA = 1
_SAMPLE_SEED = 0
_PROFILED = 10


@dataclass(frozen=True)
class Timing:
    """Of one inference, in instructions (emulator) or cycles (board)."""

    mean: float
    deviation: float
    minimum: int
    maximum: int


@dataclass(frozen=True)
class BenchReport:
    """counter says what timings count; mean_us is that in microseconds at the clock the
    firmware runs at, None for an emulator.

    decisions_compared is less than inputs only with a controller: a request that had to be sent
    again may have moved its threshold twice.

    heads_overhead is the mean over the same inputs against the image without heads, minus 1;
    None where that image cannot run beside this one (a board).
    """

    schema: int
    run: str
    target: str
    part: str
    model_id: str
    inputs: int
    bit_exact: int
    decisions_compared: int
    counter: str
    timing: Timing
    timing_without_heads: Timing | None
    heads_overhead: float | None
    mean_us: float | None
    stage_share: dict[str, float]
    size: ImageSize
    size_without_heads: ImageSize
    flash_limit_bytes: int
    ram_limit_bytes: int
    stack: Stack
    macs: int


def bench(
    run: Run,
    target_name: str | None,
    options: BenchOptions,
    port: str | None = None,
    on_progress: OnProgress = silent,
) -> BenchReport:
    """Without a target, a board at `port` says which one it is."""
    if target_name is None and port is not None:
        with Client(open_port(port)) as client:
            target_name = client.hello().target
    target = load_target(target_name or run_recipe(run).export_c.target)
    if port is None and target.emulator is None:
        raise UsageError(
            f"{target.name} is a board: bench needs to know where it is",
            "Name its serial port, for example: snap bench --port /dev/ttyACM0",
        )
    built = f"flash/{target.name}"
    # What the image computes is about to be compared bit for bit, which says more than its hash.
    image = run.inputs(built, judged_later=f"{WITH_HEADS}.elf") / f"{WITH_HEADS}.elf"
    sizes = read_json(image.parent / "size.json")
    monitor = load_monitor(run.inputs("quantize"))
    exported = read_json(run.inputs(f"export-c/{target.name}") / "export.json")
    model_id = exported["model_id"]
    inputs = _inputs(run, options.inputs, monitor.body.graph.tensors[monitor.body.graph.input])
    expected = monitor.replay(monitor.run(inputs))

    with _device(target, image, port, run) as client:
        hello = client.hello()
        _check_identity(hello, target, model_id, run.remedy(built))
        total = len(inputs) * (1 if port else 2)
        answers, steady = _timed(
            client, inputs, options.warmup, lambda n: on_progress(n, total, "timed")
        )
        profiles = [client.profile(x.tobytes()) for x in inputs[:_PROFILED]]
        stack = client.stack()
    compared = steady if monitor.decision.controller else len(answers)
    _check_answers(answers, expected, run.remedy(built), compared)
    plain = None
    if port is None:
        with _device(target, image.with_name(f"{WITHOUT_HEADS}.elf"), None, run) as client:
            plain, _ = _timed(
                client,
                inputs,
                options.warmup,
                lambda n: on_progress(len(inputs) + n, total, "timed without heads"),
            )
        _check_answers(plain, expected, run.remedy(built), None)
    timing = _timing(answers)
    timing_plain = _timing(plain) if plain else None
    steps = [step["stage"] for step in exported["steps"]]
    stages = dict.fromkeys(steps, 0)
    for profile in profiles:
        for stage, count in zip(steps, profile.step_counts, strict=True):
            stages[stage] += count
    report = BenchReport(
        schema=SCHEMA,
        run=run.name,
        target=target.name,
        part=target.part,
        model_id=model_id,
        inputs=len(inputs),
        bit_exact=len(answers),
        decisions_compared=compared,
        counter=hello.counter_unit,
        timing=timing,
        timing_without_heads=timing_plain,
        heads_overhead=timing.mean / timing_plain.mean - 1 if timing_plain else None,
        mean_us=timing.mean / target.clock_hz * 1e6 if target.clock_hz else None,
        stage_share={stage: count / sum(stages.values()) for stage, count in stages.items()},
        size=ImageSize(**sizes["size"]),
        size_without_heads=ImageSize(**sizes["size_without_heads"]),
        flash_limit_bytes=target.flash_bytes,
        ram_limit_bytes=target.ram_bytes,
        stack=stack,
        macs=monitor.body.graph.macs,
    )
    run.add_json(f"bench/{target.name}", (built, "quantize"), asdict(report))
    return report


def _inputs(run: Run, count: int, tensor: Any) -> np.ndarray:
    """int8 [count, ...]: clean, corrupted and foreign inputs in a fixed shuffled order.

    The golden vectors in the image come from dev data; these come from test data.
    """
    recipe = run_recipe(run)
    evaluation = Evaluation(load_dataset(recipe.train), recipe.calibrate.limit)
    keys = [key for key in evaluation.keys if key.split != "dev"]
    ends = np.cumsum([len(evaluation.rows(key)) for key in keys])
    order = np.random.default_rng(_SAMPLE_SEED).permutation(ends[-1])
    chosen = np.resize(order, count)
    found = np.empty((count, *tensor.shape), np.int8)
    for key, end in zip(keys, ends, strict=True):
        first = end - len(evaluation.rows(key))
        mine = np.flatnonzero((chosen >= first) & (chosen < end))
        if len(mine):
            found[mine] = tensor.quantize(evaluation.inputs(key)[chosen[mine] - first])
    return found


@contextmanager
def _device(target: Target, image: Path, port: str | None, run: Run) -> Iterator[Client]:
    if port is not None:
        with Client(open_port(port)) as client:
            yield client
        return
    try:
        with Emulator(target, image) as emulator, Client(open_port(emulator.port)) as client:
            yield client
    except DeviceError:
        # An image that was damaged on disk is the likelier reason than the emulator.
        state = run.state(f"flash/{target.name}")
        if state.status == "damaged":
            run.refuse(state)
        raise


def _check_identity(hello: Hello, target: Target, model_id: str, remedy: str) -> None:
    if hello.target != target.name:
        raise CheckError(
            f"the device was built for {hello.target}, not for {target.name}",
            f"Leave --target out, or say: snap bench --target {hello.target}",
        )
    if hello.model_id != model_id:
        raise CheckError(
            f"the device holds model {hello.model_id}, this run's is {model_id}",
            f"Flash this run first: {remedy}",
        )


def _timed(
    client: Client, inputs: np.ndarray, warmup: int, done: Any
) -> tuple[list[Inference], int]:
    """An answer to each input, and how many came before a request had to be sent again."""
    client.start()
    for x in inputs[np.arange(warmup) % len(inputs)]:
        client.infer(x.tobytes())
    client.start()  # a controller starts anew
    answers, steady, repeats = [], 0, client.repeats
    for i, x in enumerate(inputs):
        answers.append(client.infer(x.tobytes()))
        steady += client.repeats == repeats
        done(i + 1)
    return answers, steady


def _check_answers(
    answers: list[Inference], expected: DeviceScores, remedy: str, decisions: int | None
) -> None:
    """Raises CheckError that names the first input and value that differ.

    decisions: of how many inputs, from the first on, the decision is compared. None for an image
    without heads, which has logits and classes only.
    """
    where = " without heads" if decisions is None else ""
    for i, answer in enumerate(answers):
        pairs: list[tuple[str, Any, Any]] = [
            ("logits", answer.logits, tuple(expected.logits[i].tolist())),
            ("class", answer.predicted, int(expected.predicted[i])),
        ]
        if decisions is not None:
            pairs += [
                ("surprisal", answer.surprisal_q16, tuple(expected.surprisal_q16[i].tolist())),
                ("S", answer.score_q16, int(expected.score_q16[i])),
                ("U", answer.uncertainty_q16, int(expected.uncertainty_q16[i])),
            ]
            if i < decisions:
                pairs.append(("decision", answer.abstain, bool(expected.abstain[i])))
        for name, got, want in pairs:
            if got != want:
                raise CheckError(
                    f"not bit-exact{where}: {name} of input {i} is "
                    f"{got} on the device, {want} in the reference ({i} inputs before it agree)",
                    f"Build it again: {remedy}. If it stays so, the C is wrong: report it.",
                )


def _timing(answers: list[Inference]) -> Timing:
    counts = np.array([a.count for a in answers])
    return Timing(float(counts.mean()), float(counts.std()), int(counts.min()), int(counts.max()))
