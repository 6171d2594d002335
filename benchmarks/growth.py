"""Instructions per MAC of single layers as they grow, and at sizes that fit no tile.

Every layer has random weights and is lowered by the kernel set `snap`. All of them are in one
image, of which each is run alone (cycles.py counts); what it computes must be what numpy computes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cycles import Image
from numpy.typing import NDArray

from snapcli import toolchain
from snapcli.config import SNAP
from snapcli.emit import KernelSet
from snapcli.emit.lowering import Lowered
from snapcli.fixedpoint import ConvS8, FullyConnectedS8, OutputS8, output_multipliers
from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.measuring.sources import exported_sources
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.pricing.memory import write_texts
from snapcli.targets import load_target

TARGET = "qemu-m4"
# Of a layer's instructions per MAC to those of its base.
LARGER_GOAL, ODD_GOAL = 1.10, 1.30
IN_SCALE, IN_ZERO_POINT, OUT_ZERO_POINT = 0.05, 3, -5
SPREAD = 40.0  # standard deviation of the output, in steps


@dataclass(frozen=True)
class Case:
    """A layer of inputs and outputs at height x width positions; goal: see above.

    The positions of a fully connected layer are its rows.
    """

    what: str
    height: int = 16
    width: int = 16
    inputs: int = 16
    outputs: int = 16
    goal: float = ODD_GOAL


IMAGES = (
    Case("base", goal=1.0),
    Case("space x4", 32, 32, goal=LARGER_GOAL),
    Case("channels x4", 16, 16, 64, 64, LARGER_GOAL),
    Case("odd space", 15, 15),
    Case("odd space", 7, 5),
    *(Case("odd channels", 16, 16, count, count) for count in (17, 18, 19)),
)
VECTORS = (
    Case("base", 1, 1, 64, 16, 1.0),
    Case("rows x4", 4, 1, 64, 16, LARGER_GOAL),
    Case("channels x4", 1, 1, 256, 64, LARGER_GOAL),
    *(Case("odd channels", 1, 1, 48 + count, count) for count in (17, 18, 19)),
)
LAYERS = {
    "conv 3x3": IMAGES,
    "pointwise": IMAGES,
    "depthwise 3x3": IMAGES,
    "fully connected": VECTORS,
}


@dataclass(frozen=True)
class Point:
    """ratio: of the instructions per MAC to those of the base of the same layer."""

    layer: str
    case: Case
    macs: int
    instructions: int
    ratio: float
    exact: bool

    @property
    def shape(self) -> str:
        case = self.case
        size = f"{case.height}x{case.width}x{case.inputs}"
        return size if self.layer.startswith("depthwise") else f"{size} -> {case.outputs}"

    @property
    def missed(self) -> list[str]:
        where = f"{self.layer} {self.shape}"
        found = [] if self.exact else [f"{where}: another output than numpy's"]
        if self.ratio > self.case.goal:
            found.append(f"{where}: {self.ratio:.3f} of the base's, goal {self.case.goal:.2f}")
        return found


def measure_growth(folder: Path) -> list[Point]:
    """All layers at all sizes, in an image that is built in the folder."""
    rng = np.random.default_rng(0)
    kernels, library = kernel_set(SNAP, None)
    cases = [(name, case) for name, sizes in LAYERS.items() for case in sizes]
    graphs = [_graph(name, case, rng) for name, case in cases]
    lowered = [
        kernels.lower(graph.layers[0], graph, {"x": "input", "y": f"output_{i}"}, "scratch")
        for i, graph in enumerate(graphs)
    ]
    text = {"layers.c": _program(kernels, graphs, lowered)}
    write_texts({**text, **kernel_files(library, text)}, folder)
    sources, includes = exported_sources(folder)
    target = load_target(TARGET)
    image = Image(toolchain.build(target, sources, includes, {}, folder / "build").elf)

    points: list[Point] = []
    base = 1.0
    for i, ((name, case), graph) in enumerate(zip(cases, graphs, strict=True)):
        x = rng.integers(-128, 128, (1, *graph.tensors["x"].shape)).astype(np.int8)
        image.write(image.symbols["input"], x.tobytes())
        instructions = image.count(f"run_{i}").instructions.total()
        output = image.read(image.symbols["output"], graph.tensors["y"].size_bytes)
        exact = output == graph.run(x, ["y"])["y"].tobytes()
        each = instructions / graph.macs
        base = each if case.what == "base" else base
        points.append(Point(name, case, graph.macs, instructions, each / base, exact))
    return points


def _graph(name: str, case: Case, rng: np.random.Generator) -> Graph:
    """One layer from x to y."""
    shape = (case.height, case.width, case.inputs)
    result = (case.height, case.width, case.outputs)
    kernel: ConvS8 | FullyConnectedS8
    if name == "fully connected":
        operator = "FULLY_CONNECTED"
        weights = _weights(rng, (case.outputs, case.inputs))
        kernel = FullyConnectedS8(
            *(case.inputs, case.outputs, IN_ZERO_POINT, weights),
            out=_output(rng, case.inputs, case.outputs),
            rows=case.height * case.width,
        )
    else:
        depthwise, size = name.startswith("depthwise"), 1 if name == "pointwise" else 3
        operator = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        window = (size, size, case.inputs)
        kernel = ConvS8(
            *shape,
            *result,
            *(size, size),
            *(1, 1, 1, 1),
            *(size // 2, size // 2),
            in_zero_point=IN_ZERO_POINT,
            weights=_weights(rng, window if depthwise else (case.outputs, *window)),
            out=_output(rng, size * size * (1 if depthwise else case.inputs), case.outputs),
        )
    tensors = {
        "x": Tensor("x", shape, IN_SCALE, IN_ZERO_POINT),
        "y": Tensor("y", result, 1.0, OUT_ZERO_POINT),
    }
    return Graph(tensors, (Layer("y", operator, kernel, ("x",), "y"),), ("x",), {"y": "y"}, {})


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
    return rng.integers(-127, 128, shape).astype(np.int8)


def _output(rng: np.random.Generator, depth: int, channels: int) -> OutputS8:
    """Scales that spread the sums of `depth` products over the range of an int8."""
    scales = rng.uniform(0.002, 0.02, channels).astype(np.float32)
    deviation = 74.0 * 74.0 * np.sqrt(depth)  # of a sum of products of two random int8
    mantissa, shift = output_multipliers(
        IN_SCALE, scales, float(IN_SCALE * scales.mean() * deviation / SPREAD), channels
    )
    bias = np.rint(rng.normal(0, deviation / 2, channels)).astype(np.int32)
    return OutputS8(bias, mantissa, shift, OUT_ZERO_POINT, -128, 127)


def _program(kernels: KernelSet, graphs: Sequence[Graph], lowered: Sequence[Lowered]) -> str:
    """C with a function run_N() for every layer, all on the same buffers."""
    sizes = {
        "int8_t input": max(graph.tensors["x"].size_bytes for graph in graphs),
        "int8_t output": max(graph.tensors["y"].size_bytes for graph in graphs),
        "uint8_t scratch": max(made.scratch_bytes for made in lowered),
    }
    parts = ['#include "port.h"\n#include "snapuq.h"\n', kernels.prelude]
    parts += [f"static _Alignas(8) {name}[{size}];\n" for name, size in sizes.items()]
    for i, made in enumerate(lowered):
        parts.append(made.definitions)
        parts.append(
            f"static void run_{i}(void)\n{{\n"
            f"    int8_t *const output_{i} = output;\n    {made.call}\n}}\n"
        )
    names = ", ".join(f"run_{i}" for i in range(len(lowered)))
    # Nobody starts it; volatile, because otherwise a function might be gone or be part of main().
    parts.append(
        f"static void (*const volatile runs[])(void) = {{{names}}};\n\n"
        "void app_fault(const struct port_fault *fault)\n{\n    (void)fault;\n}\n\n"
        "int main(void)\n{\n"
        f"    for (int32_t i = 0; i < {len(lowered)}; i++) {{\n        runs[i]();\n    }}\n"
        "    return 0;\n}\n"
    )
    return "\n".join(parts)
