"""The end of snap_model.c: from surprisals and logits to U and the decision."""

import numpy as np

from snapcli.emit import luts
from snapcli.emit.header import DECIDE, START, WITHOUT_HEADS
from snapcli.emit.program import Program
from snapcli.emit.text import array, struct
from snapcli.fixedpoint import Budget, MapGated, MapIsotonic, MapLogistic
from snapcli.graph.monitor import Monitor


def emit_decision(monitor: Monitor) -> str:
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
            *_controller(decision.controller),
        ]
    )


def _controller(parameters: Budget | None) -> list[str]:
    if parameters is None:
        return []
    return [
        struct(parameters, "controller", {}),
        f"{START}\n{{\n    snapuq_budget_start(&controller, state);\n}}\n",
        f"{DECIDE}\n{{\n"
        "    return snapuq_budget_step(&controller, state, result->uncertainty_q16);\n}\n",
    ]


def finish(monitor: Monitor, program: Program) -> list[str]:
    body, decision = monitor.body, monitor.decision
    logits = program.pointers[body.logits_tensor]
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
        f"#ifdef {WITHOUT_HEADS}",
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
