"""The end of a run: from surprisals and logits to U and the decision."""

from snapcli.config import MAHALANOBIS
from snapcli.emit import distance, luts
from snapcli.emit.header import PROBABILITY
from snapcli.fixedpoint import MapClassGated, MapIsotonic, MapLogistic, probability_step_q24
from snapcli.monitor.decision import DeviceMap, Gated
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.settings import map_fields
from snapcli.score.maps import THIRD, tap_input, tap_of

_ARGMAX = "snapuq_argmax_s8"
# For a caller that has none of its own.
DEFAULT_SETTINGS = ["    if (!settings) {", "        settings = &snap_model_settings;", "    }"]


def closing_kernels(monitor: Monitor) -> list[str]:
    """Of the steps in header.CLOSING: the C function that gives each its result."""
    return [_ARGMAX, _map_function(monitor.decision.map)]


def classify(logits: str) -> list[str]:
    """logits: the pointer to them. The class, and the logits themselves, into the result."""
    return [
        f"    result->predicted = {_ARGMAX}({logits}, SNAP_MODEL_CLASSES);",
        "    for (int32_t i = 0; i < SNAP_MODEL_CLASSES; i++) {",
        f"        result->logits[i] = {logits}[i];",
        "    }",
    ]


def decide(monitor: Monitor, logits: str) -> list[str]:
    """S, U and the decision into the result, by the settings."""
    return [
        "    const struct snapuq_confidence confidence = {",
        "        SNAP_MODEL_CLASSES, settings->step_q16, settings->exp_q15};",
        *_map(monitor),
        "    result->score_q16 =",
        "        snapuq_score_q16(result->surprisal_q16, settings->weight_q16, SNAP_MODEL_TAPS);",
        *_uncertainty(monitor, logits),
        "    result->abstain = result->uncertainty_q16 >= settings->threshold_q16;",
    ]


def emit_probability(monitor: Monitor) -> str:
    step_q24 = probability_step_q24(monitor.body.graph.tensors[monitor.body.logits_tensor].scale)
    return (
        f"{PROBABILITY}\n{{\n"
        f"    snapuq_probability_q16(result->logits, SNAP_MODEL_CLASSES, {step_q24}u, "
        "probability_q16);\n}\n"
    )


def _map(monitor: Monitor) -> list[str]:
    """The parameters of the map, from the settings."""
    device_map = monitor.decision.map
    values = {field.name: f"settings->{field.name}" for field in map_fields(device_map)}
    if isinstance(device_map, Gated):
        values["gates"] = str(len(device_map.inputs))
    if isinstance(device_map, MapClassGated):
        values["taps"] = "SNAP_MODEL_TAPS"
    if not isinstance(device_map, MapIsotonic):
        values["tail_q16"] = luts.TAIL
    lines = [f"        .{name} = {value}," for name, value in values.items()]
    return [f"    const struct snapuq_map_{_kind(device_map)} map = {{", *lines, "    };"]


def _kind(device_map: DeviceMap) -> str:
    if isinstance(device_map, Gated):
        return "gated"
    if isinstance(device_map, MapClassGated):
        return "class_gated"
    return "logistic" if isinstance(device_map, MapLogistic) else "isotonic"


def _map_function(device_map: DeviceMap) -> str:
    return f"snapuq_map_{_kind(device_map)}_q16"


def _uncertainty(monitor: Monitor, logits: str) -> list[str]:
    decision = monitor.decision
    function = _map_function(decision.map)
    of_logits = f"&confidence, {logits}, result->predicted"
    if not isinstance(decision.map, Gated | MapClassGated):
        return [
            "    result->uncertainty_q16 =",
            f"        {function}(&map, result->score_q16,",
            f"            snapuq_doubt_q16({of_logits}, settings->alpha_q16));",
        ]
    if isinstance(decision.map, Gated):
        names, answer = decision.map.inputs, ""
    else:
        names = tuple(tap_input(i) for i in range(len(monitor.body.taps)))
        answer = ", result->predicted"
    inputs = [_gate_input(name, decision.third, of_logits) for name in names]
    lines = ["    const int32_t input_q16[] = {", *(f"        {x}," for x in inputs), "    };"]
    return [
        *(lines if inputs else []),
        "    result->uncertainty_q16 =",
        f"        {function}(&map, {'input_q16' if inputs else '0'},",
        f"            snapuq_error_logit_q16({of_logits}, {luts.LOG2}){answer});",
    ]


def _gate_input(name: str, third: str, of_logits: str) -> str:
    if name == THIRD and third != MAHALANOBIS:
        return f"snapuq_free_energy_q16({of_logits}, {luts.LOG2})"
    tap = tap_of(name)
    value = "result->score_q16" if tap is None else f"result->surprisal_q16[{tap}]"
    return f"snapuq_ln_of_q16({distance.RESULT if name == THIRD else value}, {luts.LOG2})"
