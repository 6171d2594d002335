"""snap_model.c, the network as one straight line of kernel calls, and all files beside it."""

import hashlib
from dataclasses import dataclass

import numpy as np

from snapcli.emit import distance
from snapcli.emit.decision import classify, decide, emit_probability
from snapcli.emit.golden import emit_golden
from snapcli.emit.header import RUN, RUN_MONITOR, RUN_WITH, c_type, emit_header
from snapcli.emit.monitor import (
    monitor_bytes,
    monitor_calls,
    monitor_definitions,
    monitor_files,
    monitor_pointers,
    pointer,
)
from snapcli.emit.program import Program
from snapcli.emit.settings import emit_settings, emit_struct
from snapcli.emit.steps import (
    DistanceStep,
    LayerStep,
    MoveStep,
    Step,
    SumStep,
    layer_scratch,
    moved,
    sum_buffer,
)
from snapcli.emit.text import GENERATED, array, shape_text
from snapcli.fixedpoint import ConvAddS8, ConvS8, PoolS8
from snapcli.graph.graph import Graph, Layer
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.settings import pack_settings


@dataclass(frozen=True)
class Emitted:
    """files by name; constant_bytes in flash; golden_bytes beside them in a firmware that tests
    itself; arena_bytes with input, output and scratch."""

    files: dict[str, str]
    model_id: str
    constant_bytes: int
    golden_bytes: int
    arena_bytes: int


def emit_model(
    program: Program, monitor: Monitor | None, golden: np.ndarray | None, trace: bool = False
) -> Emitted:
    """golden [n, *input shape] int8: inputs of the vectors that travel with a monitor.

    trace: after every step, the code calls snap_model_trace(index of the step, values, their
    bytes), which is the caller's.
    """
    files = emit_network(program, monitor, trace)
    constants = sum(low.constant_bytes for low in program.lowered.values())
    constants += sum(values.nbytes for values in program.graph.constants.values())
    if monitor:
        assert golden is not None
        files["snap_golden.h"] = emit_golden(monitor, golden)
        constants += monitor_bytes(program, monitor)
    # Settings are not part of what the model is.
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:16]
    settings = emit_struct(monitor) if monitor else None
    files["snap_model.h"] = emit_header(program, monitor, settings, digest)
    if monitor:
        files["snap_settings.c"] = emit_settings(monitor, digest)
        constants += len(pack_settings(monitor, digest))
    return Emitted(
        files,
        digest,
        constants,
        0 if golden is None else golden.size,
        program.full.arena_bytes,
    )


def emit_network(program: Program, monitor: Monitor | None, trace: bool = False) -> dict[str, str]:
    """The files that follow from program and monitor alone."""
    parts = [includes(program, monitor)]
    if trace:
        parts.append("void snap_model_trace(int32_t step, const void *values, int32_t bytes);\n")
    parts += layer_definitions(program)
    if monitor:
        parts += [monitor_definitions(program, monitor), emit_probability(monitor)]
    parts.append(_run(program, monitor, trace))
    source = {"snap_model.c": "\n".join(parts)}
    return source | monitor_files(program, monitor) if monitor else source


def includes(program: Program, monitor: Monitor | None) -> str:
    """The top of snap_model.c."""
    parts = [GENERATED, '#include "snap_model.h"\n\n#include "snapuq.h"\n']
    if program.kernels.prelude:
        parts.append(program.kernels.prelude)
    if monitor:
        parts.append('#include "snap_parts.h"\n')
    return "\n".join(parts)


def layer_definitions(program: Program) -> list[str]:
    """The constants that the layers read, in the order of work."""
    layers = [step.layer for step in program.steps if isinstance(step, LayerStep)]
    constants = [array(program.pointers[n], v) for n, v in program.graph.constants.items()]
    return constants + [program.lowered[layer.name].definitions for layer in layers]


def _run(program: Program, monitor: Monitor | None, trace: bool) -> str:
    """Straight on: where the buffers lie, the steps, and with a monitor the decision."""
    lines = ["{", *network_pointers(program), *monitor_pointers(program), ""]
    for i, step in enumerate(program.steps):
        lines += step_lines(step, program)
        if trace:
            lines.append(f"    {_trace(i, step, program)}")
    if monitor is None:
        return "\n".join([RUN, *lines, "}", ""])
    logits = program.pointers[monitor.body.logits_tensor]
    lines += ["", *classify(logits), *decide(monitor, logits), "}", ""]
    own = "    snap_model_run_with(arena, &snap_model_settings, result);"
    return "\n".join([RUN_WITH, *lines, RUN_MONITOR, "{", own, "}", ""])


def network_pointers(program: Program) -> list[str]:
    """Where the layers' buffers lie, as variables; a tensor that moves is assigned to again."""
    graph, offsets = program.graph, program.full.offsets
    read = {graph.stored(s) for layer in graph.layers for s in layer.sources}
    lines = ["    uint8_t *const base = arena;"]
    for name, tensor in graph.tensors.items():
        if name in offsets and (name not in graph.inputs or name in read):
            const = "" if moved(name) in offsets else "const "
            lines.append(pointer(c_type(tensor), const, program.pointers[name], offsets[name]))
    for step in program.steps:
        if isinstance(step, LayerStep) and program.lowered[step.layer.name].scratch_bytes:
            offset = offsets[layer_scratch(step.layer.name)]
            scratch = layer_scratch(program.pointers[step.layer.target])
            lines.append(f"    uint8_t *const {scratch} = base + {offset};")
    return lines


def step_lines(step: Step, program: Program) -> list[str]:
    """The statements of a step, of a layer with its shapes above them."""
    calls = [f"    {call}" for call in step_calls(step, program)]
    if not isinstance(step, LayerStep):
        return calls
    return [f"    /* {_shapes(step.layer, program.graph)} */", *calls]


def _shapes(layer: Layer, graph: Graph) -> str:
    """CONV_2D 9x8x3 -> 9x8x6, window 3x3: of a layer, whose name may be any text."""
    sources = ", ".join(shape_text(graph.tensors[name].shape) for name in layer.sources)
    text = f"{layer.operator} {sources} -> {shape_text(graph.tensors[layer.target].shape)}"
    kernel = layer.kernel.conv if isinstance(layer.kernel, ConvAddS8) else layer.kernel
    if not isinstance(kernel, ConvS8 | PoolS8):
        return text
    text += f", window {kernel.kernel_h}x{kernel.kernel_w}"
    strides = (kernel.stride_h, kernel.stride_w)
    return text if strides == (1, 1) else f"{text}, stride {shape_text(strides)}"


def step_calls(step: Step, program: Program) -> tuple[str, ...]:
    """The statements that compute a step."""
    if isinstance(step, LayerStep):
        return (program.lowered[step.layer.name].call,)
    if not isinstance(step, MoveStep):
        return monitor_calls(step, program)
    name, to = program.pointers[step.target], program.full.offsets[moved(step.target)]
    size = program.graph.tensors[step.target].size_bytes
    return (f"{name} = snapuq_move_s8({name}, {size}, (int8_t *)(base + {to}));",)


def _trace(index: int, step: Step, program: Program) -> str:
    if isinstance(step, LayerStep | MoveStep):
        values = program.pointers[step.target]
        size = program.graph.tensors[step.target].size_bytes
    elif isinstance(step, SumStep):
        values = sum_buffer(program.pointers[step.tensor])
        size = 4 * step.length
    elif isinstance(step, DistanceStep):
        values, size = f"&{distance.RESULT}", 8
    else:
        values, size = f"&result->surprisal_q16[{step.index}]", 4
    return f"snap_model_trace({index}, {values}, {size});"
