"""The end of snap_model.c: from surprisals and logits to U and the decision."""

import numpy as np

from snapcli.config import MAHALANOBIS
from snapcli.emit import distance, luts
from snapcli.emit.header import DECIDE, START, WITHOUT_HEADS
from snapcli.emit.program import Program
from snapcli.emit.text import array, struct
from snapcli.fixedpoint import Budget, MapIsotonic, MapLogistic
from snapcli.graph.decision import Gated
from snapcli.graph.monitor import Monitor
from snapcli.score.maps import THIRD, tap_of


def emit_decision(monitor: Monitor, program: Program) -> str:
    decision = monitor.decision
    return "\n".join(
        [
            *([program.distance.definitions] if program.distance else []),
            array("tap_weight_q16", np.asarray(decision.weight_q16, np.uint32)),
            struct(monitor.confidence, "confidence", {"exp_q15": luts.EXP}),
            _map(monitor),
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


def _map(monitor: Monitor) -> str:
    device_map = monitor.decision.map
    if isinstance(device_map, Gated):
        gates = len(device_map.inputs)
        given = {"gates": str(gates), "tail_q16": luts.TAIL}
        given["slope_q16"] = luts.SLOPES if gates else "0"
        given["theta_q16"] = luts.THETAS if gates else "0"
        return struct(device_map.parameters, "map", given)
    if isinstance(device_map, MapIsotonic):
        count = len(device_map.breakpoint_q16)
        given = {"breakpoints": str(count), "value_q16": luts.VALUES}
        given["breakpoint_q16"] = luts.BREAKPOINTS if count else "0"
        return struct(device_map, "map", given)
    return struct(device_map, "map", {"tail_q16": luts.TAIL})


def finish(monitor: Monitor, program: Program) -> list[str]:
    logits = program.pointers[monitor.body.logits_tensor]
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
        *_uncertainty(monitor, logits),
        "    result->abstain = result->uncertainty_q16 >= threshold_q16;",
        "    snapuq_mark(probe, SNAPUQ_STAGE_MAP);",
        "#endif",
    ]


def _uncertainty(monitor: Monitor, logits: str) -> list[str]:
    decision = monitor.decision
    of_logits = f"&confidence, {logits}, result->predicted"
    if not isinstance(decision.map, Gated):
        kind = "logistic" if isinstance(decision.map, MapLogistic) else "isotonic"
        return [
            "    result->uncertainty_q16 =",
            f"        snapuq_map_{kind}_q16(&map, result->score_q16,",
            f"            snapuq_doubt_q16({of_logits}, {decision.alpha_q16}));",
        ]
    inputs = [_gate_input(name, decision.third, of_logits) for name in decision.map.inputs]
    lines = ["    const int32_t input_q16[] = {", *(f"        {x}," for x in inputs), "    };"]
    return [
        *(lines if inputs else []),
        "    result->uncertainty_q16 =",
        f"        snapuq_map_gated_q16(&map, {'input_q16' if inputs else '0'},",
        f"            snapuq_error_logit_q16({of_logits}, {luts.LOG2}));",
    ]


def _gate_input(name: str, third: str, of_logits: str) -> str:
    if name == THIRD and third != MAHALANOBIS:
        return f"snapuq_free_energy_q16({of_logits}, {luts.LOG2})"
    tap = tap_of(name)
    value = "result->score_q16" if tap is None else f"result->surprisal_q16[{tap}]"
    return f"snapuq_ln_of_q16({distance.RESULT if name == THIRD else value}, {luts.LOG2})"
