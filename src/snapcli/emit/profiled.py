"""The model as images hold it: with a mark behind every step, and by a define without heads.

So that one source is measured, by step and without its heads; an exported folder has neither.
"""

from collections.abc import Iterable
from itertools import groupby

from snapcli.emit.decision import DEFAULT_SETTINGS, classify, decide, emit_probability
from snapcli.emit.header import (
    ALIGN,
    CLOSING,
    LIBRARY,
    RUN_MONITOR,
    RUN_WITH,
    access,
    guarded,
    monitor_face,
    result_struct,
)
from snapcli.emit.model import (
    Emitted,
    includes,
    layer_definitions,
    network_pointers,
    step_lines,
)
from snapcli.emit.monitor import monitor_definitions, monitor_pointers
from snapcli.emit.program import Program
from snapcli.emit.settings import emit_struct
from snapcli.emit.steps import LayerStep, MoveStep
from snapcli.graph.graph import Tensor
from snapcli.monitor.monitor import Monitor

WITHOUT_HEADS = "SNAP_MODEL_WITHOUT_HEADS"
# Of the kernels, what only this variant calls.
PROBE_FILES = ("snapuq_mark.c", "snapuq_probe.h")
_PROFILE = (
    "void snap_model_profile(void *arena, const struct snap_model_settings *settings,\n"
    "                        struct snap_model_result *result, const struct snapuq_probe *probe)"
)


def emit_profiled(program: Program, monitor: Monitor, model_id: str) -> dict[str, str]:
    """{name: text} of what stands in place of two files that emit_model() gives."""
    return {
        "snap_model.c": _source(program, monitor),
        "snap_model.h": _header(program, monitor, model_id),
    }


def image_files(program: Program, monitor: Monitor, emitted: Emitted) -> dict[str, str]:
    """All that an image holds of a model: what was exported, these two instead."""
    return emitted.files | emit_profiled(program, monitor, emitted.model_id)


def _header(program: Program, monitor: Monitor, model_id: str) -> str:
    image = _is_image(program.graph.tensors[program.graph.input])
    lines = [
        f'#define SNAP_MODEL_ID "{model_id}"',
        f"#define SNAP_MODEL_CLASSES {monitor.body.classes}",
        f"#define SNAP_MODEL_STEPS {len(program.steps) + len(CLOSING)}",
        f"#define SNAP_MODEL_INPUT_PIXELS {int(image)}",
        f"#ifdef {WITHOUT_HEADS}",
        "#define SNAP_MODEL_TAPS 0",
        f"#define SNAP_MODEL_ARENA_BYTES {program.plain.arena_bytes}",
        "#else",
        f"#define SNAP_MODEL_TAPS {len(monitor.body.taps)}",
        f"#define SNAP_MODEL_ARENA_BYTES {program.full.arena_bytes}",
        "#endif",
        ALIGN,
        *access(program),
        "",
        result_struct("SNAP_MODEL_TAPS > 0 ? SNAP_MODEL_TAPS : 1"),
        "",
        monitor_face(emit_struct(monitor)),
        "",
        "/* snap_model_run_with() that tells a probe (see snapuq_probe.h) when each of",
        " * SNAP_MODEL_STEPS steps ends. Without settings: the model's own. */",
        "struct snapuq_probe;",
        f"{_PROFILE};",
    ]
    return guarded("SNAP_MODEL_H", lines, LIBRARY)


def _is_image(tensor: Tensor) -> bool:
    """Whether each step of the input is one of a pixel's: 0..1 or 0..255 in 255 steps."""
    return tensor.zero_point == -128 and any(
        abs(tensor.scale / step - 1) < 0.01 for step in (1 / 255, 1.0)
    )


def _source(program: Program, monitor: Monitor) -> str:
    parts = [
        includes(program, monitor),
        '#include "snapuq_probe.h"\n',
        *layer_definitions(program),
        "\n".join(_with_heads([monitor_definitions(program, monitor).rstrip()])) + "\n",
        emit_probability(monitor),
        _profile(program, monitor),
        f"{RUN_WITH}\n{{\n    snap_model_profile(arena, settings, result, 0);\n}}\n",
        f"{RUN_MONITOR}\n{{\n    snap_model_profile(arena, 0, result, 0);\n}}\n",
    ]
    return "\n".join(parts)


def _with_heads(lines: Iterable[str]) -> list[str]:
    return [f"#ifndef {WITHOUT_HEADS}", *lines, "#endif"]


def _profile(program: Program, monitor: Monitor) -> str:
    lines = [_PROFILE, "{", *network_pointers(program), *_with_heads(monitor_pointers(program))]
    lines.append("")
    numbered = enumerate(program.steps)
    for is_layer, steps in groupby(numbered, lambda s: isinstance(s[1], LayerStep | MoveStep)):
        calls = [line for i, step in steps for line in (*step_lines(step, program), _mark(i))]
        lines += calls if is_layer else _with_heads(calls)
    logits = program.pointers[monitor.body.logits_tensor]
    lines += ["", *classify(logits), _mark(len(program.steps))]
    lines += [
        f"#ifdef {WITHOUT_HEADS}",
        "    (void)settings;",
        "    result->surprisal_q16[0] = 0;",
        "    result->score_q16 = 0;",
        "    result->uncertainty_q16 = 0;",
        "    result->abstain = 0;",
        "    result->foreign_q16 = 0;",
        "    result->foreign = 0;",
        "#else",
        *DEFAULT_SETTINGS,
        *decide(monitor, logits),
        _mark(len(program.steps) + 1),
        "#endif",
    ]
    return "\n".join([*lines, "}", ""])


def _mark(step: int) -> str:
    return f"    snapuq_mark(probe, {step});"
