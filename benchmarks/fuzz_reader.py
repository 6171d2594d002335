"""Feeds the reader damaged files: only a SnapError may escape, within 5 s and 1 GB each.

Run: make fuzz
"""

import argparse
import copy
import multiprocessing
import resource
import signal
import sys
import time
import traceback
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from ai_edge_litert import schema_py_generated as schema
from tests.golden.random_models import random_model
from tests.golden.shape_arithmetic import shape_arithmetic
from tests.golden.tflite_op import packed

from snapcli.errors import SnapError
from snapcli.graph import Graph, read_tflite

WORKERS = 2
SEEDS = range(40)  # of the models that are damaged; together they have every operator
SECONDS_MAX = 5
BYTES_MAX = 1 << 30
MACS_MAX = 2_000_000  # of a graph that is also run, and
ACTIVATIONS_MAX = 1_000_000  # the bytes of all its tensors
INTERESTING = [0, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2**24, 2**31 - 1]
INTERESTING += [-1, -2, -128, -32768, -(2**31)]
REALS = [0.0, -0.0, -1.0, 1e-45, 1e-38, 1e-20, 1e20, 3e38, float("inf"), float("nan")]

Rng = np.random.Generator


@dataclass
class Outcome:
    """What happened to the files of a worker."""

    read: int = 0
    refused: int = 0
    run: int = 0
    slowest_ms: float = 0.0
    most_bytes: int = 0
    failures: list[str] = field(default_factory=list)


@cache
def originals() -> list[bytes]:
    return [shape_arithmetic(), *(random_model(seed, operators=8) for seed in SEEDS)]


def mutated(rng: Rng) -> bytes:
    content = pick(originals(), rng)
    if rng.random() < 0.4:
        content = restructured(content, rng)
        if rng.random() < 0.7:
            return content
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        pick(DAMAGES, rng)(data, rng)
    return bytes(data)


def flip(data: bytearray, rng: Rng) -> None:
    data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))


def replace_byte(data: bytearray, rng: Rng) -> None:
    data[rng.integers(len(data))] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(256)]))


def replace_word(data: bytearray, rng: Rng) -> None:
    at = 4 * int(rng.integers(len(data) // 4))
    value = int(rng.choice(INTERESTING)) % 2**32
    data[at : at + 4] = value.to_bytes(4, "little")


def nudge_word(data: bytearray, rng: Rng) -> None:
    """Offsets and counts that are a little wrong."""
    at = 4 * int(rng.integers(len(data) // 4))
    value = int.from_bytes(data[at : at + 4], "little") + int(rng.integers(-16, 17))
    data[at : at + 4] = (value % 2**32).to_bytes(4, "little")[: len(data) - at]


def copy_block(data: bytearray, rng: Rng) -> None:
    length = int(rng.integers(1, 64))
    source, target = (int(v) for v in rng.integers(0, len(data), 2))
    block = data[source : source + length][: len(data) - target]
    data[target : target + len(block)] = block


def cut_block(data: bytearray, rng: Rng) -> None:
    start = int(rng.integers(8, len(data)))
    del data[start : start + 4 * int(rng.integers(1, 9))]


def truncate(data: bytearray, rng: Rng) -> None:
    if rng.random() < 0.2:
        del data[int(rng.integers(16, len(data))) :]


DAMAGES = [flip, replace_byte, replace_word, nudge_word, copy_block, cut_block, truncate]


def restructured(content: bytes, rng: Rng) -> bytes:
    """A whole flatbuffer that says something else; the old one where it cannot be written."""
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    for _ in range(int(rng.integers(1, 4))):
        pick(EDITS, rng)(model, rng)
    try:
        return packed(model)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return content


def pick(items: Any, rng: Rng) -> Any:
    return items[rng.integers(len(items))]


def other_number(value: Any, rng: Rng) -> int:
    if rng.random() < 0.5:
        return int(value) + int(rng.integers(-3, 4))
    return int(rng.choice(INTERESTING))


def other_entry(values: Any, rng: Rng) -> list[int]:
    """One of the numbers is another, is missing or is there twice."""
    changed = [int(v) for v in values] if values is not None else []
    if not changed or rng.random() < 0.1:
        return [*changed, int(rng.choice(INTERESTING))]
    at = int(rng.integers(len(changed)))
    if rng.random() < 0.1:
        del changed[at]
    else:
        changed[at] = other_number(changed[at], rng)
    return changed


def edit_shape(model: Any, rng: Rng) -> None:
    tensor = pick(model.subgraphs[0].tensors, rng)
    tensor.shape = other_entry(tensor.shape, rng)
    if rng.random() < 0.2:
        tensor.shapeSignature = other_entry(tensor.shape, rng)


def edit_type(model: Any, rng: Rng) -> None:
    tensor = pick(model.subgraphs[0].tensors, rng)
    tensor.type = int(rng.integers(0, 20))
    tensor.isVariable = bool(rng.random() < 0.05)


def edit_scale(model: Any, rng: Rng) -> None:
    tensor = pick(model.subgraphs[0].tensors, rng)
    if tensor.quantization is None:
        tensor.quantization = schema.QuantizationParametersT()
    if rng.random() < 0.6:
        tensor.quantization.scale = [float(rng.choice(REALS))] * int(rng.choice([0, 1, 1, 1, 3]))
    else:
        tensor.quantization.zeroPoint = other_entry(tensor.quantization.zeroPoint, rng)
    if rng.random() < 0.1:
        tensor.quantization.quantizedDimension = other_number(0, rng)


def edit_constant(model: Any, rng: Rng) -> None:
    """Axes, sizes and paddings are small constants: they are changed as int32."""
    buffer = pick(model.buffers, rng)
    if buffer.data is None or len(buffer.data) % 4:
        return
    values = np.frombuffer(bytes(buffer.data), np.int32).astype(np.int64)
    if not values.size:
        return
    values[rng.integers(values.size)] = other_number(pick(values, rng), rng)
    buffer.data = np.frombuffer(values.astype(np.int32).tobytes(), np.uint8)


def edit_options(model: Any, rng: Rng) -> None:
    operator = pick(model.subgraphs[0].operators, rng)
    options = operator.builtinOptions
    if options is None or rng.random() < 0.05:
        operator.builtinOptions, operator.builtinOptionsType = None, 0
        return
    name = pick([*vars(options)] or [""], rng)
    value = getattr(options, name, None)
    if isinstance(value, bool):
        setattr(options, name, not value)
    elif isinstance(value, int):
        setattr(options, name, other_number(value, rng))
    elif isinstance(value, float):
        setattr(options, name, float(rng.choice(REALS)))
    elif name:
        setattr(options, name, other_entry(value, rng))


def edit_wiring(model: Any, rng: Rng) -> None:
    graph = model.subgraphs[0]
    holder, name = pick(
        [(pick(graph.operators, rng), "inputs"), (pick(graph.operators, rng), "outputs"),
         (graph, "inputs"), (graph, "outputs")],
        rng,
    )  # fmt: skip
    values = [int(v) for v in getattr(holder, name)]
    if values and rng.random() < 0.7:
        values[rng.integers(len(values))] = int(rng.integers(-1, len(graph.tensors) + 1))
    else:
        values = other_entry(values, rng)
    setattr(holder, name, values)


def edit_operators(model: Any, rng: Rng) -> None:
    graph = model.subgraphs[0]
    at, other = (int(v) for v in rng.integers(0, len(graph.operators), 2))
    match rng.integers(4):
        case 0:
            code = pick(model.operatorCodes, rng)
            code.builtinCode = int(rng.integers(0, 210))
            code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        case 1:
            operators = graph.operators
            operators[at], operators[other] = operators[other], operators[at]
        case 2:
            graph.operators.insert(at, copy.deepcopy(graph.operators[other]))
        case _:
            graph.operators[at].opcodeIndex = graph.operators[other].opcodeIndex


def edit_buffer(model: Any, rng: Rng) -> None:
    tensor = pick(model.subgraphs[0].tensors, rng)
    if rng.random() < 0.8:
        tensor.buffer = int(rng.integers(0, len(model.buffers) + 1))
    else:
        pick(model.buffers, rng).offset = int(rng.integers(0, 1 << 40))


EDITS = [
    *(edit_shape, edit_type, edit_scale, edit_constant, edit_constant, edit_options),
    *(edit_options, edit_wiring, edit_operators, edit_buffer),
]


def too_slow(signum: int, frame: Any) -> None:
    raise TimeoutError(f"more than {SECONDS_MAX} s")


def evaluate(graph: Graph) -> bool:
    """Runs the graph on zeros where that is little work."""
    bytes_of_all = sum(tensor.size_bytes for tensor in graph.tensors.values())
    if graph.macs > MACS_MAX or bytes_of_all > ACTIVATIONS_MAX:
        return False
    x = {
        name: np.zeros((1, *graph.tensors[name].shape), graph.tensors[name].dtype)
        for name in graph.inputs
    }
    found = graph.run(x, set(graph.outputs.values()))
    assert {*found} == {*graph.outputs.values()}
    return True


def feed(content: bytes, outcome: Outcome) -> None:
    started = time.process_time()  # of this process alone: others may keep the machine busy
    try:
        graph = read_tflite(content)
    except SnapError:
        outcome.refused += 1
        graph = None
    seconds = time.process_time() - started
    outcome.slowest_ms = max(outcome.slowest_ms, 1000 * seconds)
    if graph is not None:
        outcome.read += 1
        outcome.run += evaluate(graph)


def work(seed: int, files: int) -> Outcome:
    """Feeds so many files; the first thing that is wrong with each kind of failure is kept."""
    warnings.simplefilter("error")
    rng = np.random.default_rng(seed)
    originals()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    virtual = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (virtual + BYTES_MAX, virtual + BYTES_MAX))
    signal.signal(signal.SIGALRM, too_slow)
    outcome = Outcome()
    for _ in range(files):
        content = mutated(rng)
        signal.setitimer(signal.ITIMER_REAL, SECONDS_MAX)
        try:
            feed(content, outcome)
        except Exception:
            outcome.failures.append(traceback.format_exc(limit=-3))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome.most_bytes = 1024 * (after - before)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    share = -(-given.files // WORKERS)
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        tasks = [(given.seed * WORKERS + k, share) for k in range(WORKERS)]
        outcomes = pool.starmap(work, tasks)
    failures = [text for outcome in outcomes for text in outcome.failures]
    print(f"files     {WORKERS * share:>9}")
    print(f"read      {sum(o.read for o in outcomes):>9}")
    print(f"  and run {sum(o.run for o in outcomes):>9}")
    print(f"refused   {sum(o.refused for o in outcomes):>9}")
    print(f"failed    {len(failures):>9}")
    print(f"slowest   {max(o.slowest_ms for o in outcomes):>9.1f} ms")
    print(f"memory    {max(o.most_bytes for o in outcomes) / 2**20:>9.1f} MiB above the start")
    for text in dict.fromkeys(failures):
        print(text, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
