"""What a user of TFLite-Micro compiles: the flatbuffer, and the monitor that reads its outputs.

TFLite-Micro computes the layers; what stands behind them is the same C as in snap_model.c.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from snapcli.emit.decision import DEFAULT_SETTINGS, classify, decide, emit_probability
from snapcli.emit.header import LIBRARY, STREAM_FACE, guarded, of_taps, result_struct, settings_face
from snapcli.emit.monitor import (
    monitor_bytes,
    monitor_calls,
    monitor_definitions,
    monitor_files,
    monitor_pointers,
)
from snapcli.emit.program import Program, build_monitor
from snapcli.emit.reference import Reference
from snapcli.emit.settings import emit_settings, emit_struct
from snapcli.emit.steps import LayerStep, MoveStep
from snapcli.emit.text import GENERATED, array
from snapcli.errors import ArtifactError
from snapcli.graph.extra_outputs import outputs_of, with_outputs
from snapcli.graph.graph import Graph, Tensor
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.settings import pack_settings

HEADER = "snap_monitor.h"
_ALIGNMENT = 16  # of a flatbuffer, and of tensors in TFLite-Micro's arena
_RUN = (
    "void snap_monitor_run(const int8_t *const tensors[], void *scratch,\n"
    "                      const struct snap_model_settings *settings,\n"
    "                      struct snap_model_result *result)"
)


@dataclass(frozen=True)
class OutputRow:
    """A tensor that the monitor reads; output: its place among the interpreter's outputs; added:
    the model itself does not give it."""

    name: str
    output: int
    bytes: int
    added: bool


@dataclass(frozen=True)
class EmittedTflm:
    """files by name, flatbuffer among them; constant_bytes in flash, but for the flatbuffer.

    outputs in the monitor's own order. kept_bytes: of tensors that stay to the end only because
    the monitor reads them. live_bytes: the largest set of tensors alive at once, which no arena of
    TFLite-Micro's can go below; plain_live_bytes: without a monitor.
    """

    files: dict[str, str]
    model_id: str
    flatbuffer: bytes
    constant_bytes: int
    scratch_bytes: int
    kept_bytes: int
    live_bytes: int
    plain_live_bytes: int
    outputs: tuple[OutputRow, ...]


def emit_tflm(monitor: Monitor, content: bytes) -> EmittedTflm:
    """content: the .tflite that the monitor's graph was read from."""
    program = build_monitor(monitor.body, Reference())
    tensors = program.graph.tensors.values()
    patched = with_outputs(content, [_index(tensor) for tensor in tensors])
    own, given = outputs_of(content), outputs_of(patched)
    outputs = tuple(
        OutputRow(t.name, given.index(_index(t)), t.size_bytes, _index(t) not in own)
        for t in tensors
    )
    files = {
        "snap_flatbuffer.c": _flatbuffer(patched),
        "snap_flatbuffer.h": _flatbuffer_header(patched),
        "snap_monitor.c": _source(program, monitor, outputs),
        **monitor_files(program, monitor),
    }
    # Settings are not part of what the model is.
    model_id = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:16]
    files[HEADER] = _header(program, monitor, model_id)
    files["snap_settings.c"] = emit_settings(monitor, model_id, HEADER)
    graph = monitor.body.graph
    answer = set(graph.outputs.values()) - monitor.body.tapped
    kept = {*answer, *program.graph.tensors}
    return EmittedTflm(
        files=files,
        model_id=model_id,
        flatbuffer=patched,
        constant_bytes=monitor_bytes(program, monitor) + len(pack_settings(monitor, model_id)),
        scratch_bytes=program.full.arena_bytes,
        kept_bytes=sum(_aligned(graph.tensors[name].size_bytes) for name in kept - answer),
        live_bytes=_live_bytes(graph, kept),
        plain_live_bytes=_live_bytes(graph, answer),
        outputs=outputs,
    )


def _live_bytes(graph: Graph, kept: Collection[str]) -> int:
    """The largest set of tensors alive at once if those of kept stay to the end."""
    end = len(graph.layers)
    last = {graph.stored(name): end for name in kept}
    born = dict.fromkeys(graph.inputs, 0)
    for step, layer in enumerate(graph.layers):
        born[layer.target] = step
        for source in map(graph.stored, (*layer.sources, layer.target)):
            last[source] = max(last.get(source, 0), step)
    sizes = {name: _aligned(graph.tensors[name].size_bytes) for name in born}
    return max(
        sum(size for name, size in sizes.items() if born[name] <= step <= last.get(name, 0))
        for step in range(end)
    )


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _index(tensor: Tensor) -> int:
    if tensor.index is None or tensor.dtype != "int8":
        raise ArtifactError(
            f"tensor '{tensor.name}' is not an int8 tensor of the .tflite and cannot be an output",
            "Choose another tap, or export it as C: snap export-c --runtime c",
        )
    return tensor.index


def _flatbuffer(content: bytes) -> str:
    values = array("snap_model_flatbuffer", np.frombuffer(content, np.uint8), static=False)
    return f'{GENERATED}#include "snap_flatbuffer.h"\n\n_Alignas({_ALIGNMENT}) {values}'


def _flatbuffer_header(content: bytes) -> str:
    lines = [
        "/* The model for tflite::GetModel(), what the monitor reads behind its own outputs. */",
        f"#define SNAP_MODEL_FLATBUFFER_BYTES {len(content)}",
        "extern const uint8_t snap_model_flatbuffer[SNAP_MODEL_FLATBUFFER_BYTES];",
    ]
    return guarded("SNAP_FLATBUFFER_H", lines)


def _header(program: Program, monitor: Monitor, model_id: str) -> str:
    lines = [
        f'#define SNAP_MODEL_ID "{model_id}"',
        f"#define SNAP_MODEL_CLASSES {monitor.body.classes}",
        f"#define SNAP_MODEL_TAPS {len(monitor.body.taps)}",
        f"#define SNAP_MONITOR_TENSORS {len(program.graph.tensors)}",
        f"#define SNAP_MONITOR_SCRATCH_BYTES {program.full.arena_bytes}",
        "",
        "/* What the monitor reads: which of the interpreter's outputs, and its size. */",
        "struct snap_monitor_tensor {",
        "    uint32_t output, bytes;",
        "};",
        "extern const struct snap_monitor_tensor snap_monitor_tensors[SNAP_MONITOR_TENSORS];",
        "",
        result_struct(of_taps(monitor)),
        "",
        settings_face(emit_struct(monitor)),
        "",
        "/* tensors: in the order of snap_monitor_tensors, all of the same inference. scratch:",
        " * SNAP_MONITOR_SCRATCH_BYTES bytes, aligned to 8. settings: 0 for the export's own. */",
        f"{_RUN};",
        "",
        STREAM_FACE,
    ]
    return guarded("SNAP_MONITOR_H", lines, LIBRARY)


def _source(program: Program, monitor: Monitor, outputs: Sequence[OutputRow]) -> str:
    rows = "".join(f"    {{{o.output}u, {o.bytes}u}}, /* {o.name} */\n" for o in outputs)
    table = "const struct snap_monitor_tensor snap_monitor_tensors[SNAP_MONITOR_TENSORS]"
    calls = [
        f"    {call}"
        for step in program.steps
        if not isinstance(step, LayerStep | MoveStep)
        for call in monitor_calls(step, program)
    ]
    logits = program.pointers[monitor.body.logits_tensor]
    run = [
        _RUN,
        "{",
        *(
            f"    const int8_t *const {program.pointers[o.name]} = tensors[{i}];"
            for i, o in enumerate(outputs)
        ),
        "    uint8_t *const base = scratch;",
        *monitor_pointers(program),
        "",
        *calls,
        "",
        *classify(logits),
        *DEFAULT_SETTINGS,
        *decide(monitor, logits),
        "}",
        "",
    ]
    parts = [
        GENERATED,
        f'#include "{HEADER}"\n\n#include "snapuq.h"\n\n#include "snap_parts.h"\n',
        f"{table} = {{\n{rows}}};\n",
        monitor_definitions(program, monitor),
        emit_probability(monitor),
        "\n".join(run),
    ]
    return "\n".join(parts)
