"""Builds firmware/test/lowered.c around layers that a kernel set lowered to C, and runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from snapcli.emit import distance
from snapcli.emit.closure import needed_files
from snapcli.emit.lowering import DistanceSite, HeadSite, KernelSet, Lowered, LoweredResidual
from snapcli.emit.text import array
from snapcli.fixedpoint import DeviceHead, mahalanobis_s8, residual_s8
from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.heads.lowrank import EnergyLowrank

from .c_runner import FIRMWARE, Host, Platform, call, missing_tools
from .cases import (
    Binary,
    Dense,
    Mahalanobis,
    Mean,
    OracleCase,
    Pool,
    ReduceMax,
    Residual,
    Softmax,
    Window,
)

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes")
OPERATORS = {
    "conv_s8": "CONV_2D",
    "depthwise_conv_s8": "DEPTHWISE_CONV_2D",
    "fully_connected_s8": "FULLY_CONNECTED",
    "mean_s8": "MEAN",
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


class ElsewhereError(Exception):
    """Raised where a layer goes to the fallback."""


class Fallback:
    """A kernel set that has nothing."""

    name = prelude = head_header = "fallback"

    def fuses(self, layer: Layer) -> bool:
        return False

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        raise ElsewhereError(layer.name)

    def lower_residual(self, site: HeadSite) -> LoweredResidual:
        raise ElsewhereError(site.name)

    def lower_distance(self, site: DistanceSite) -> Lowered:
        raise ElsewhereError(site.total)


def takes(kernels: KernelSet, case: OracleCase | Residual | Mahalanobis) -> bool:
    """Whether a kernel set with that fallback lowers the case itself."""
    try:
        if isinstance(case, Residual):
            kernels.lower_residual(site_of(case))
        elif isinstance(case, Mahalanobis):
            kernels.lower_distance(distance_site(case))
        else:
            lower(case, kernels)
    except ElsewhereError:
        return False
    return True


def identity(case: OracleCase | Residual | Mahalanobis) -> str:
    return f"{case.kernel}-{case.name}"


def named(case: OracleCase) -> str:
    """A name of its own in C."""
    return "".join(c if c.isalnum() else "_" for c in f"{case.kernel}_{case.name}")


def layer_of(case: OracleCase) -> tuple[Layer, Graph]:
    """The graph of one layer that a golden case describes; its tensors are x, [x2,] y."""
    operator, name = OPERATORS[case.kernel], named(case)
    match case:
        case Dense():
            source = Tensor("x", case.x.shape[1:], float(case.parts.in_scale), case.in_zero_point)
        case Mean():
            source = Tensor("x", case.x.shape[1:], 0.05, case.layer.in_zero_point)
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


def computed(case: OracleCase, kernels: KernelSet) -> Program:
    """The case as the kernel set has it; TFLite says what to expect."""
    lowered, inputs = lower(case, kernels), inputs_of(case)
    expected = case.tflite().reshape(len(inputs[0]), -1)
    scratch_bytes = lowered.scratch_bytes
    parts = (lowered.definitions, lowered.call, inputs, expected, scratch_bytes, named(case))
    return Program(identity(case), *parts)


def site_of(case: Residual) -> HeadSite:
    """The inputs are the sums; behind those after the block stands the class. The likelihood is
    one that looks at the deviations."""
    head, *sums, _ = case.draw()
    name = f"head_{case.name}"
    before, after = (f"(const int32_t *)(const void *)input{k}" for k in (1, 2))
    largest_before, largest_after = (int(np.abs(x.astype(np.int64)).max()) for x in sums)
    energy = EnergyLowrank(1, np.zeros((head.channels, 1), np.float32))
    return HeadSite(
        head=DeviceHead(head, energy),
        index=0,
        name=name,
        energy="",
        table=f"{name}_table",
        sums=(before, after),
        bounds=(largest_before, largest_after),
        predicted=f"({after})[{head.channels}]",
        result="",
    )


def residual(case: Residual, kernels: KernelSet) -> Program:
    """A head; the output: u, inverse sigmas, latent."""
    head, before, after, predicted = case.draw()
    site = site_of(case)
    lowered = kernels.lower_residual(site)
    body = f"""int16_t *head_scratch_0 = scratch;
    int32_t *head_u_0 = (int32_t *)(void *)output;
    uint16_t *head_sigma_0 = (uint16_t *)(void *)(output + {4 * head.rows});
    {lowered.call}
    memcpy(output + {6 * head.rows}, head_scratch_0, {2 * head.inputs});"""
    found = residual_s8(head, before, after, predicted)
    parts = (
        found.u_q12.astype(np.int32),
        found.inverse_sigma_q9,
        found.latent.astype(np.int16),
    )
    expected = np.concatenate([part.view(np.int8) for part in parts], axis=1)
    definitions = array(site.table, head.inverse_sigma_q9) + lowered.definitions
    inputs = (before, np.concatenate([after, predicted[:, np.newaxis]], axis=1))
    return Program(identity(case), definitions, body, inputs, expected, site.scratch.size_bytes)


def distance_site(case: Mahalanobis) -> DistanceSite:
    """The inputs are the sums and the answer."""
    head, total, _ = case.draw()
    bound = int(np.abs(total.astype(np.int64)).max())
    sums, answer = (f"(const int32_t *)(const void *)input{k}" for k in (1, 2))
    return DistanceSite(head, sums, bound, f"*{answer}")


def distances(case: Mahalanobis, kernels: KernelSet) -> Program:
    head, total, answer = case.draw()
    lowered = kernels.lower_distance(distance_site(case))
    # The constants in there, too: they have the same name in every program.
    body = f"""{lowered.definitions}
    int16_t *{distance.SCRATCH} = scratch;
    {distance.TYPE} {distance.RESULT};
    {lowered.call}
    memcpy(output, &{distance.RESULT}, sizeof {distance.RESULT});"""
    expected = mahalanobis_s8(head, total, answer)
    inputs = (total, answer[:, np.newaxis])
    return Program(identity(case), "", body, inputs, expected, lowered.scratch_bytes)


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


def results(
    platform: Platform,
    folder: Path,
    prelude: str,
    programs: Sequence[Program],
    library: Mapping[str, str],
    include: str = ".",
) -> dict[str, np.ndarray]:
    """The outputs by program; library: {path: C text} of all that they may call. Paths and
    `include`, where more headers lie, are inside of the folder."""
    if missing := missing_tools(platform):
        pytest.skip(f"needs {' and '.join(missing)}")
    text = program_text(prelude, programs)
    needed = needed_files(library, [text])
    for name in needed:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(library[name])
    sources = [folder / name for name in needed if name.endswith(".c")]
    outputs = run(platform, folder, text, programs, sources, (folder, folder / include))
    return {program.name: output for program, output in zip(programs, outputs, strict=True)}


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
