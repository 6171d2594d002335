"""verify: the same inputs through TFLite, numpy, C on this machine and C in the emulator.

Each link of that chain is compared with the one before it, layer by layer.
"""

import itertools
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli import toolchain
from snapcli.config import VerifyOptions
from snapcli.emit import Program, build_program, emit_model
from snapcli.emit.steps import DistanceStep, HeadStep, LayerStep, MoveStep, Step, SumStep
from snapcli.emit.tracer import INPUTS, TRACE, emit_tracer, last_step, pack_inputs, read_trace
from snapcli.errors import ArtifactError, CheckError, ToolchainError, UsageError
from snapcli.graph import Graph, litert, read_tflite
from snapcli.graph.litert import read_answer, write_question
from snapcli.graph.reader import model_bytes
from snapcli.limits import DATA_MAX
from snapcli.monitor.body import MODEL_FILE
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.pooled import pooled_sums
from snapcli.origin.origin import origin_of
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run
from snapcli.stored import read_npy, reading
from snapcli.targets import load_target

SCHEMA = 1
TFLITE, NUMPY, HOST = "TFLite's reference kernels", "the numpy reference", "C on this machine"


@dataclass(frozen=True)
class Difference:
    """The first element, of the first step in the order of work, that two links disagree on."""

    layer: str
    operator: str
    input: int
    element: tuple[int, ...]
    expected: float
    found: float


@dataclass(frozen=True)
class Link:
    """found is compared with expected after so many steps (layers, moves, sums and heads);
    difference is None if all agree."""

    expected: str
    found: str
    steps: int
    values: int
    difference: Difference | None


@dataclass(frozen=True)
class VerifyReport:
    schema: int
    source: str
    target: str
    kernels: str
    inputs: int
    links: tuple[Link, ...]


def verify_model(
    model: Path,
    options: VerifyOptions,
    data: Path | None = None,
    cmsis_nn: Path | None = None,
    on_progress: OnProgress = silent,
) -> VerifyReport:
    """Any int8 .tflite, on random inputs or on those of a .npy file."""
    content = model_bytes(model)
    graph = read_tflite(content)
    return _verify(model.name, content, graph, None, options, data, cmsis_nn, on_progress)


def verify_run(
    run: Run,
    options: VerifyOptions,
    data: Path | None = None,
    cmsis_nn: Path | None = None,
    on_progress: OnProgress = silent,
) -> VerifyReport:
    """The int8 model of a run with its heads."""
    deployment = origin_of(run).deployed()
    monitor, content = deployment.monitor, model_bytes(deployment.folder / MODEL_FILE)
    graph = monitor.body.graph
    return _verify(run.name, content, graph, monitor, options, data, cmsis_nn, on_progress)


def _verify(
    source: str,
    content: bytes,
    graph: Graph,
    monitor: Monitor | None,
    options: VerifyOptions,
    data: Path | None,
    cmsis_nn: Path | None,
    on_progress: OnProgress,
) -> VerifyReport:
    target = load_target(options.target)
    toolchain.emulated_machine(target)  # refused before any work is done
    kernels, library = kernel_set(options.kernels, cmsis_nn)
    body = monitor.body if monitor else None
    program = build_program(graph, body, kernels)
    inputs = _load(data, graph) if data else _random(graph, options)

    on_progress(0, 4, TFLITE)
    by_tflite = _by_tflite(content, graph, inputs)
    on_progress(1, 4, NUMPY)
    by_numpy = graph.run(inputs, [layer.target for layer in graph.layers])
    values = [
        (TFLITE, _of_network(program, by_tflite, moves=False)),
        (
            NUMPY,
            _of_network(program, by_numpy, moves=True) | _of_heads(program, by_numpy),
        ),
    ]
    emulated = f"C on {target.name}"
    with tempfile.TemporaryDirectory(prefix="snap-verify-") as name:
        folder = Path(name)
        sources, includes = _write(folder, program, monitor, library)
        (folder / INPUTS).write_bytes(pack_inputs(program, inputs))
        for done, link in enumerate((HOST, emulated), start=2):
            on_progress(done, 4, link)
            if link == HOST:
                command = toolchain.build_host(sources, includes, folder)
            else:
                command = toolchain.build_semihosted(target, sources, includes, folder)
            values.append((link, _traced(program, command, folder, link)))
    links = tuple(
        _compare(program, *before, *after) for before, after in itertools.pairwise(values)
    )
    count = len(next(iter(inputs.values())))
    return VerifyReport(SCHEMA, source, target.name, program.kernels.name, count, links)


def _by_tflite(content: bytes, graph: Graph, inputs: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """In a process of its own: TFLite aborts where it finds a model impossible."""
    whole = read_tflite(content)
    if whole.inputs != graph.inputs:
        # A monitor's graph begins behind what turns real numbers into int8.
        tensor = graph.tensors[graph.input]
        inputs = {whole.input: tensor.real(inputs[graph.input])}
    with tempfile.TemporaryDirectory(prefix="snap-verify-") as name:
        folder = Path(name)
        write_question(folder, content, whole, inputs)
        try:
            toolchain.run_program([sys.executable, "-m", litert.__name__, name], folder)
        except ToolchainError as error:
            raise ArtifactError(
                f"TFLite's own reference kernels cannot run the model ({error.message})",
                "There is nothing to compare with; export-c works all the same.",
            ) from None
        return read_answer(folder, graph)


def _traced(
    program: Program, command: Sequence[str], folder: Path, link: str
) -> dict[int, NDArray]:
    trace = folder / TRACE
    trace.write_bytes(b"")
    try:
        toolchain.run_program(command, folder)
    except ToolchainError as error:
        last = last_step(trace.read_bytes())
        after = f"after {program.steps[last].label}" if last is not None else "before any layer"
        raise CheckError(
            f"{link} did not reach its end, {after}: {error.message}",
            "The step behind it crashed or hangs; look at its kernel and parameters.",
        ) from None
    return read_trace(program, trace.read_bytes())


def _random(graph: Graph, options: VerifyOptions) -> dict[str, NDArray]:
    """Noise, and the two ends of the range, where saturation shows."""
    rng = np.random.default_rng(options.seed)
    inputs = {}
    for name in graph.inputs:
        tensor = graph.tensors[name]
        steps = rng.integers(-128, 128, (options.inputs, *tensor.shape)).astype(np.int8)
        steps[1:2], steps[2:3] = -128, 127
        inputs[name] = steps if tensor.dtype == "int8" else (steps / 32).astype(np.float32)
    return inputs


def _load(path: Path, graph: Graph) -> dict[str, NDArray]:
    if len(graph.inputs) != 1:
        raise UsageError(
            f"the model has {len(graph.inputs)} inputs, a .npy file has one array",
            "Leave --data out: random inputs are made for all of them.",
        )
    tensor = graph.tensors[graph.input]
    with reading(path, "Give an array that numpy.save wrote."):
        values = read_npy(path, DATA_MAX)
    # A batch axis of 1 per sample is common, and means nothing.
    if values.ndim == len(tensor.shape) + 2 and values.shape[1] == 1:
        values = values[:, 0]
    wanted = f"{tensor.dtype} [n, {', '.join(map(str, tensor.shape))}]"
    if values.dtype != tensor.dtype or values.shape[1:] != tensor.shape or not len(values):
        raise UsageError(
            f"{path} holds {values.dtype} {list(values.shape)}, the model takes {wanted}",
            "Quantize and reshape the inputs first.",
        )
    return {graph.input: values}


def _write(
    folder: Path, program: Program, monitor: Monitor | None, library: Mapping[str, str]
) -> tuple[list[Path], list[Path]]:
    """(sources, include folders) of the tracer."""
    tensor = program.graph.tensors[program.graph.inputs[0]]
    golden = np.zeros((1, *tensor.shape), np.int8) if monitor else None
    files = dict(emit_model(program, monitor, golden, trace=True).files)
    files |= kernel_files(library, files)
    files["tracer.c"] = emit_tracer(program)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    sources = [folder / name for name in files if name.endswith(".c")]
    return sources, sorted({(folder / name).parent for name in files if name.endswith(".h")})


def _of_network(
    program: Program, tensors: Mapping[str, NDArray], moves: bool
) -> dict[int, NDArray]:
    """moves: also what a tensor must be after its move."""
    kinds = (LayerStep, MoveStep) if moves else (LayerStep,)
    targets = {i: step.target for i, step in enumerate(program.steps) if isinstance(step, kinds)}
    return {i: tensors[target] for i, target in targets.items() if target in tensors}


def _of_heads(program: Program, tensors: Mapping[str, NDArray]) -> dict[int, NDArray]:
    """What the monitor adds: pooled sums, surprisals and the distance."""
    values: dict[int, NDArray] = {}
    sums: dict[str, NDArray] = {}
    body = program.body
    if body is None:
        return values
    logits = tensors[program.graph.stored(body.logits_tensor)]
    for i, step in enumerate(program.steps):
        if isinstance(step, SumStep):
            tensor = body.graph.tensors[step.tensor]
            sums[step.tensor] = pooled_sums(tensor, tensors[step.tensor], body.statistics)
            values[i] = sums[step.tensor]
        elif isinstance(step, HeadStep):
            values[i] = body.surprisal_q16(step.index, sums, logits.reshape(len(logits), -1))
        elif isinstance(step, DistanceStep):
            assert body.distance is not None
            answer = fx.argmax_s8(logits.reshape(len(logits), -1))
            values[i] = fx.mahalanobis_s8(body.distance.parameters, sums[step.tensor], answer)
    return values


def _compare(
    program: Program,
    expected_name: str,
    expected: Mapping[int, NDArray],
    found_name: str,
    computed: Mapping[int, NDArray],
) -> Link:
    common = sorted(expected.keys() & computed.keys())
    values, difference = 0, None
    for index in common:
        first = expected[index]
        second = computed[index]
        values += first.size
        if difference is None and not np.array_equal(first, second):
            sample, *element = (int(axis[0]) for axis in np.nonzero(first != second))
            at = (sample, *element)
            label, operator = _name(program.steps[index])
            difference = Difference(
                label, operator, sample, tuple(element), first[at].item(), second[at].item()
            )
    return Link(expected_name, found_name, len(common), values, difference)


def _name(step: Step) -> tuple[str, str]:
    if isinstance(step, LayerStep):
        return step.layer.name, step.layer.operator
    if isinstance(step, HeadStep):
        return step.tap.after, "SURPRISAL"
    if isinstance(step, DistanceStep):
        return step.tensor, "DISTANCE"
    return (step.target, "MOVE") if isinstance(step, MoveStep) else (step.tensor, "POOLED SUM")
