"""Builds firmware/test/lowered.c around layers that a kernel set lowered to C, and runs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapcli.emit.lowering import KernelSet, Lowered
from snapcli.graph.graph import Graph, Layer, Tensor

from .c_runner import FIRMWARE, Host, Platform, call
from .cases import Binary, OracleCase, Pool, ReduceMax, Softmax, Window

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes")
OPERATORS = {
    "conv_s8": "CONV_2D",
    "depthwise_conv_s8": "DEPTHWISE_CONV_2D",
    "average_pool_s8": "AVERAGE_POOL_2D",
    "max_pool_s8": "MAX_POOL_2D",
    "add_s8": "ADD",
    "sub_s8": "SUB",
    "mul_s8": "MUL",
    "softmax_s8": "SOFTMAX",
}


@dataclass(frozen=True, eq=False)
class Program:
    """A piece of C with its inputs and the output to expect, both by sample.

    body reads input1 and input2 and writes output, all int8_t *; scratch is a void *. target is
    another name for output.
    """

    name: str
    definitions: str
    body: str
    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    scratch_bytes: int = 0
    target: str = ""


def named(case: OracleCase) -> str:
    """A name of its own in C."""
    return "".join(c if c.isalnum() else "_" for c in f"{case.kernel}_{case.name}")


def layer_of(case: OracleCase) -> tuple[Layer, Graph]:
    """The graph of one layer that a golden case describes; its tensors are x, [x2,] y."""
    operator, name = OPERATORS[case.kernel], named(case)
    match case:
        case Window():
            source = Tensor("x", case.in_hwc, float(case.parts.in_scale), case.in_zero_point)
        case Binary():
            source = Tensor("x", case.x1.shape, case.scales[0], case.zero_points[0])
        case Softmax():
            source = Tensor("x", (case.positions, case.classes), case.scale, case.zero_point)
        case Pool() | ReduceMax():
            source = Tensor("x", case.in_hwc, 0.05, case.zero_point)
    tensors = {"x": source, "y": Tensor("y", (1,), 1.0, 0)}
    sources = ("x",)
    if isinstance(case, Binary):
        tensors["x2"] = Tensor("x2", case.x2.shape, case.scales[1], case.zero_points[1])
        sources = ("x", "x2")
    layer = Layer(name, operator, case.layer, sources, "y")
    return layer, Graph(tensors, (layer,), ("x",), {"y": "y"}, {})


def inputs_of(case: OracleCase) -> tuple[np.ndarray, ...]:
    return (case.x1[np.newaxis], case.x2[np.newaxis]) if isinstance(case, Binary) else (case.x,)


def lower(case: OracleCase, kernels: KernelSet, **places: str) -> Lowered:
    """places: C expressions of x and x2, if they are not the inputs.

    The output has the name of the case, which its constants are named after.
    """
    layer, graph = layer_of(case)
    pointers = {"x": "input1", "x2": "input2", "y": named(case)} | places
    return kernels.lower(layer, graph, pointers, "scratch")


def program_text(prelude: str, programs: Sequence[Program]) -> str:
    parts = ['#include "lowered.h"\n\n#include <string.h>\n', prelude]
    rows = []
    for i, program in enumerate(programs):
        unused = "".join(f"    (void){n};\n" for n in ("input1", "input2", "scratch"))
        alias = f"    int8_t *{program.target} = output;\n" if program.target else ""
        parts += [
            program.definitions,
            f"static void run_{i}(const int8_t *input1, const int8_t *input2, int8_t *output,\n"
            f"                  void *scratch)\n{{\n{unused}{alias}    {program.body}\n}}\n",
        ]
        sizes = [x[0].nbytes for x in program.inputs] + [0] * (2 - len(program.inputs))
        samples, output = len(program.expected), program.expected[0].nbytes
        rows.append(
            f"    {{run_{i}, {samples}, {{{sizes[0]}, {sizes[1]}}}, "
            f"{output}, {program.scratch_bytes}}},\n"
        )
    parts.append(f"const struct lowered_case lowered_cases[] = {{\n{''.join(rows)}}};\n")
    parts.append(f"const uint32_t lowered_count = {len(programs)};\n")
    return "\n".join(parts)


def run(
    platform: Platform,
    folder: Path,
    text: str,
    programs: Sequence[Program],
    foreign: Sequence[Path],
    include_dirs: Sequence[Path],
) -> list[np.ndarray]:
    """The outputs of all programs, from one start. foreign: C files that are not ours."""
    (folder / "cases.c").write_text(text)
    include = [f"-I{path}" for path in (FIRMWARE / "test", *include_dirs)]
    # Arm shifts negative numbers to the left, which C leaves open and gcc defines.
    lenient = ["-fno-sanitize=shift"] if isinstance(platform, Host) else []
    compiler = [*platform.compiler, *FLAGS, *include]
    call([*compiler, *lenient, "-c", *map(str, foreign)], folder)
    objects = [f"{path.stem}.o" for path in foreign]
    ours = ["cases.c", str(FIRMWARE / "test" / "lowered.c"), *map(str, platform.startup)]
    call([*compiler, *platform.linking, *ours, *objects, "-o", "lowered"], folder)
    with (folder / "inputs").open("wb") as file:
        for program in programs:
            for sample in range(len(program.expected)):
                file.writelines(x[sample].tobytes() for x in program.inputs)
    call(platform.command("lowered", "inputs", "results"), folder)
    data, results = (folder / "results").read_bytes(), []
    for program in programs:
        size = program.expected.nbytes
        shaped = np.frombuffer(data[:size], program.expected.dtype)
        results.append(shaped.reshape(program.expected.shape))
        data = data[size:]
    assert not data
    return results
