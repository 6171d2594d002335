"""snap_model.h and snap_model.c: the network as one straight line of kernel calls."""

import hashlib
import re
from dataclasses import dataclass

import numpy as np

from snapcli.emit import luts
from snapcli.emit.golden import emit_golden
from snapcli.emit.heads import emit_heads, head_name
from snapcli.emit.steps import (
    HeadStep,
    LayerStep,
    Step,
    SumStep,
    buffers,
    classifier_start,
    order,
    scratch_buffer,
    sum_buffer,
)
from snapcli.emit.text import GENERATED, array, constant_bytes, struct
from snapcli.fixedpoint import MapGated, MapIsotonic, MapLogistic
from snapcli.graph.graph import Layer
from snapcli.graph.monitor import Monitor
from snapcli.graph.plan import Plan, plan_arena

_WITHOUT = "SNAP_MODEL_WITHOUT_HEADS"
# What a layer may be called, but a variable of snap_model_run may not.
_TAKEN = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|"
    "inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|"
    "union|unsigned|void|volatile|while|"
    "input|arena|result|probe|base|i|confidence|map|threshold_q16|tap_weight_q16"
)


@dataclass(frozen=True)
class Emitted:
    """files by name; sizes in bytes: constants in flash, arena with and without the monitor."""

    files: dict[str, str]
    model_id: str
    constant_bytes: int
    arena_bytes: int
    input_bytes: int


def emit_model(monitor: Monitor, golden: np.ndarray) -> Emitted:
    """golden [n, *input shape] int8: inputs of the vectors that travel with the firmware."""
    body = monitor.body
    steps = order(body)
    activations, extra = buffers(body, steps)
    plain, full = plan_arena(activations), plan_arena(activations, extra)
    input_bytes = body.graph.tensors[body.graph.input].size_bytes
    files = {
        "snap_model.c": _source(monitor, steps, full),
        "snap_heads.c": emit_heads(body),
        "snap_luts.c": luts.emit_luts(monitor),
        "snap_parts.h": _parts(monitor),
        "snap_golden.h": emit_golden(monitor, golden),
    }
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:16]
    files["snap_model.h"] = _header(monitor, digest, input_bytes, plain, full)
    constants = golden.size + sum(
        constant_bytes(part)
        for part in (
            *(layer.kernel for layer in body.graph.layers),
            *body.graph.constants.values(),
            *body.heads,
            monitor.confidence,
            *luts.shared_tables(monitor).values(),
        )
    )
    return Emitted(files, digest, constants, full.arena_bytes, input_bytes)


def _header(monitor: Monitor, digest: str, input_bytes: int, plain: Plan, full: Plan) -> str:
    body = monitor.body
    tensor = body.graph.tensors[body.graph.input]
    shape = "x".join(str(d) for d in tensor.shape)
    return f"""{GENERATED}#ifndef SNAP_MODEL_H
#define SNAP_MODEL_H

#include <stdint.h>

#include "snapuq.h"

#define SNAP_MODEL_ID "{digest}"
#define SNAP_MODEL_INPUT_BYTES {input_bytes}
#define SNAP_MODEL_CLASSES {body.classes}
#ifdef {_WITHOUT}
#define SNAP_MODEL_TAPS 0
#define SNAP_MODEL_ARENA_BYTES {plain.arena_bytes}
#else
#define SNAP_MODEL_TAPS {len(body.taps)}
#define SNAP_MODEL_ARENA_BYTES {full.arena_bytes}
#endif

struct snap_model_result {{
    int32_t predicted;
    uint32_t score_q16;       /* S */
    uint32_t uncertainty_q16; /* U, 65536 = certainly wrong */
    int32_t abstain;          /* U >= {monitor.decision.threshold_q16} */
    uint32_t surprisal_q16[SNAP_MODEL_TAPS > 0 ? SNAP_MODEL_TAPS : 1];
    int8_t logits[SNAP_MODEL_CLASSES];
}};

/* input: {shape} int8, real = {tensor.scale!r} * (q - ({tensor.zero_point})).
 * arena: SNAP_MODEL_ARENA_BYTES bytes, aligned to 8. probe may be null. */
void snap_model_run(const int8_t *input, void *arena, struct snap_model_result *result,
                    const struct snapuq_probe *probe);

#endif
"""


def _parts(monitor: Monitor) -> str:
    """What the generated sources share with each other."""
    types = {"uint16": "uint16_t", "uint32": "uint32_t"}
    lines = [
        f"extern const {types[table.dtype.name]} {name}[{table.size}];"
        for name, table in luts.tables(monitor).items()
    ]
    lines += [
        f"extern const struct snapuq_gaussian_head_s8 {head_name(tap.after)};"
        for tap in monitor.body.taps
    ]
    joined = "\n".join(lines)
    return (
        f'{GENERATED}#ifndef SNAP_PARTS_H\n#define SNAP_PARTS_H\n\n#include "snapuq.h"\n\n'
        f"{joined}\n\n#endif\n"
    )


def _source(monitor: Monitor, steps: list[Step], plan: Plan) -> str:
    layers = [
        struct(step.layer.kernel, f"{_c_name(step.layer.name)}_layer", {})
        for step in steps
        if isinstance(step, LayerStep)
    ]
    return "\n".join(
        [
            GENERATED,
            '#include "snap_model.h"\n\n#include "snap_parts.h"\n',
            *(array(_c_name(n), v) for n, v in monitor.body.graph.constants.items()),
            *layers,
            f"#ifndef {_WITHOUT}\n{_decision(monitor)}#endif\n",
            _run(monitor, steps, plan),
        ]
    )


def _c_name(name: str) -> str:
    return f"{name}_" if _TAKEN.fullmatch(name) else re.sub(r"\W", "_", name)


def _decision(monitor: Monitor) -> str:
    decision = monitor.decision
    given = {"tail_q16": luts.TAIL}
    if isinstance(decision.map, MapGated):
        given["log2_q15"] = luts.LOG2
    elif isinstance(decision.map, MapIsotonic):
        count = len(decision.map.breakpoint_q16)
        given = {"breakpoints": str(count), "value_q16": luts.VALUES}
        given["breakpoint_q16"] = luts.BREAKPOINTS if count else "0"
    return "\n".join(
        [
            array("tap_weight_q16", np.asarray(decision.weight_q16, np.uint32)),
            struct(monitor.confidence, "confidence", {"exp_q15": luts.EXP}),
            struct(decision.map, "map", given),
            # A constant of its own: compilers warn of `unsigned >= 0u`.
            f"static const uint32_t threshold_q16 = {decision.threshold_q16}u;\n",
        ]
    )


def _run(monitor: Monitor, steps: list[Step], plan: Plan) -> str:
    body = monitor.body
    lines = [
        "void snap_model_run(const int8_t *input, void *arena, struct snap_model_result *result,",
        "                    const struct snapuq_probe *probe)",
        "{",
        "    uint8_t *const base = arena;",
    ]
    for name, offset in plan.offsets.items():
        if name in body.graph.tensors:
            lines.append(f"    int8_t *const {_c_name(name)} = (int8_t *)(base + {offset});")
    lines += [f"#ifndef {_WITHOUT}"]
    for name, offset in plan.offsets.items():
        if name not in body.graph.tensors:
            ctype = "int32_t" if name.endswith("_sum") else "int16_t"
            lines.append(
                f"    {ctype} *const {_c_name(name)} = ({ctype} *)(void *)(base + {offset});"
            )
    lines += ["#endif", ""]
    start = classifier_start(steps)
    for i, step in enumerate(steps):
        following = steps[i + 1] if i + 1 < len(steps) else None
        if isinstance(step, LayerStep):
            lines.append(f"    {_call(step.layer, body.graph.input)}")
            if i < start and not (isinstance(following, LayerStep) and i + 1 < start):
                lines.append("    snapuq_mark(probe, SNAPUQ_STAGE_BACKBONE);")
            continue
        if isinstance(steps[i - 1], LayerStep):
            lines.append(f"#ifndef {_WITHOUT}")
        lines.append(f"    {_monitor_call(step, monitor)}")
        if following is None or isinstance(following, LayerStep):
            lines += ["    snapuq_mark(probe, SNAPUQ_STAGE_HEADS);", "#endif"]
    return "\n".join([*lines, "", *_finish(monitor), "}", ""])


def _call(layer: Layer, graph_input: str) -> str:
    name = _c_name(layer.name)
    sources = ("input" if s == graph_input else _c_name(s) for s in layer.sources)
    return f"{layer.c_function}(&{name}_layer, {', '.join(sources)}, {_c_name(layer.target)});"


def _monitor_call(step: SumStep | HeadStep, monitor: Monitor) -> str:
    if isinstance(step, SumStep):
        tensor = monitor.body.graph.tensors[step.tensor]
        return (
            f"snapuq_pool_sum_s8({_c_name(step.tensor)}, {tensor.positions}, {tensor.channels}, "
            f"{tensor.zero_point}, {_c_name(sum_buffer(step.tensor))});"
        )
    before, after = (_c_name(sum_buffer(t)) for t in (step.tap.before, step.tap.after))
    return (
        f"result->surprisal_q16[{step.index}] =\n        "
        f"snapuq_surprisal_s8(&{head_name(step.tap.after)}, {before}, {after}, "
        f"{scratch_buffer(step.index)});"
    )


def _finish(monitor: Monitor) -> list[str]:
    body, decision = monitor.body, monitor.decision
    logits = _c_name(body.logits_tensor)
    if isinstance(decision.map, MapGated):
        proxy = f"snapuq_error_logit_q16(&confidence, {logits}, result->predicted, {luts.LOG2})"
        kind = "gated"
    else:
        proxy = f"snapuq_doubt_q16(&confidence, {logits}, result->predicted, {decision.alpha_q16})"
        kind = "logistic" if isinstance(decision.map, MapLogistic) else "isotonic"
    return [
        f"    result->predicted = snapuq_argmax_s8({logits}, SNAP_MODEL_CLASSES);",
        "    for (int32_t i = 0; i < SNAP_MODEL_CLASSES; i++) {",
        f"        result->logits[i] = {logits}[i];",
        "    }",
        "    snapuq_mark(probe, SNAPUQ_STAGE_CLASSIFIER);",
        f"#ifdef {_WITHOUT}",
        "    result->surprisal_q16[0] = 0;",
        "    result->score_q16 = 0;",
        "    result->uncertainty_q16 = 0;",
        "    result->abstain = 0;",
        "#else",
        "    result->score_q16 =",
        "        snapuq_score_q16(result->surprisal_q16, tap_weight_q16, SNAP_MODEL_TAPS);",
        f"    result->uncertainty_q16 =\n        snapuq_map_{kind}_q16(&map, result->score_q16,\n"
        f"            {proxy});",
        "    result->abstain = result->uncertainty_q16 >= threshold_q16;",
        "    snapuq_mark(probe, SNAPUQ_STAGE_MAP);",
        "#endif",
    ]
