"""The end of a run: from surprisals and logits to U and the decision."""

from snapcli.config import MAHALANOBIS
from snapcli.emit import distance, luts
from snapcli.emit.header import PROBABILITY
from snapcli.fixedpoint import Hidden, MapClassGated, MapIsotonic, MapLogistic, probability_step_q24
from snapcli.monitor.decision import DeviceMap, Gated
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.settings import FOREIGN_PREFIX, hidden_fields, map_fields
from snapcli.score.maps import OWN, THIRD, tap_input, tap_of

_ARGMAX = "snapuq_argmax_s8"
_HIDDEN = "hidden_q16"
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
    """S, U, F and the decisions into the result, by the settings."""
    decision = monitor.decision
    values = _Values(monitor, logits)
    uncertainty = _uncertainty(monitor, values)
    foreign = _gated("foreign", decision.foreign, values, "foreign", FOREIGN_PREFIX)
    return [
        "    const struct snapuq_confidence confidence = {",
        "        SNAP_MODEL_CLASSES, settings->step_q16, settings->exp_q15};",
        *_score(monitor),
        *values.lines,
        *uncertainty,
        "    result->abstain = result->uncertainty_q16 >= settings->threshold_q16;",
        *foreign,
        "    result->foreign = result->foreign_q16 >= settings->foreign_threshold_q16;",
    ]


def _score(monitor: Monitor) -> list[str]:
    if not monitor.body.taps:
        return ["    result->score_q16 = 0;"]
    return [
        "    result->score_q16 =",
        "        snapuq_score_q16(result->surprisal_q16, settings->weight_q16, SNAP_MODEL_TAPS);",
    ]


class _Values:
    """What maps read, as constants of C, each computed once and only where it is read."""

    def __init__(self, monitor: Monitor, logits: str) -> None:
        self._third = monitor.decision.third
        self._of_logits = f"&confidence, {logits}, result->predicted"
        self._computed: dict[str, str] = {}

    @property
    def lines(self) -> list[str]:
        return [
            f"    const int32_t {name} =\n        {value};"
            for name, value in self._computed.items()
        ]

    def error_logit(self) -> str:
        return self._named(
            "error_logit_q16", f"snapuq_error_logit_q16({self._of_logits}, {luts.LOG2})"
        )

    def doubt(self) -> str:
        return f"snapuq_doubt_q16({self._of_logits}, settings->alpha_q16)"

    def of(self, gate: str) -> str:
        """gate: a name of score.maps.Gate.input."""
        if gate == THIRD:
            energy = f"snapuq_free_energy_q16({self._of_logits}, {luts.LOG2})"
            nearest = _ln(f"{distance.OWN} < {distance.NEXT} ? {distance.OWN} : {distance.NEXT}")
            return self._named("third_q16", nearest if self._third == MAHALANOBIS else energy)
        if gate == OWN:
            return self._named("own_q16", _ln(distance.OWN))
        tap = tap_of(gate)
        if tap is None:
            return self._named("ln_score_q16", _ln("result->score_q16"))
        return self._named(f"ln_surprisal_{tap}_q16", _ln(f"result->surprisal_q16[{tap}]"))

    def ratio(self) -> str:
        """Of the distances to the answered and to the next class."""
        following = self._named("next_q16", _ln(distance.NEXT))
        return f"{self.of(OWN)} - {following}"

    def _named(self, name: str, value: str) -> str:
        self._computed[name] = value
        return name


def _ln(value: str) -> str:
    return f"snapuq_ln_of_q16({value}, {luts.LOG2})"


def emit_probability(monitor: Monitor) -> str:
    step_q24 = probability_step_q24(monitor.body.graph.tensors[monitor.body.logits_tensor].scale)
    return (
        f"{PROBABILITY}\n{{\n"
        f"    snapuq_probability_q16(result->logits, SNAP_MODEL_CLASSES, {step_q24}u, "
        "probability_q16);\n}\n"
    )


def _map(name: str, device_map: DeviceMap, prefix: str) -> list[str]:
    """The parameters of the map, from the settings, where their names have the prefix."""
    values = {field.name: f"settings->{prefix}{field.name}" for field in map_fields(device_map)}
    if isinstance(device_map, MapClassGated) and device_map.hidden:
        for field in hidden_fields(device_map.hidden):
            del values[field.name]
        values["b0_q16"] = _HIDDEN
    if isinstance(device_map, Gated):
        values["gates"] = str(len(device_map.inputs))
    if isinstance(device_map, MapClassGated):
        values["taps"] = "SNAP_MODEL_TAPS"
        values["others"] = str(len(device_map.also_q16))
    if not isinstance(device_map, MapIsotonic):
        values["tail_q16"] = luts.TAIL
    lines = [f"        .{name} = {value}," for name, value in values.items()]
    return [f"    const struct snapuq_map_{_kind(device_map)} {name} = {{", *lines, "    };"]


def _kind(device_map: DeviceMap) -> str:
    if isinstance(device_map, Gated):
        return "gated"
    if isinstance(device_map, MapClassGated):
        return "class_gated"
    return "logistic" if isinstance(device_map, MapLogistic) else "isotonic"


def _map_function(device_map: DeviceMap) -> str:
    return f"snapuq_map_{_kind(device_map)}_q16"


def _uncertainty(monitor: Monitor, values: _Values) -> list[str]:
    device_map = monitor.decision.map
    if isinstance(device_map, Gated):
        return _gated("map", device_map, values, "uncertainty")
    function = _map_function(device_map)
    if isinstance(device_map, MapClassGated):
        inputs = [values.of(tap_input(i)) for i in range(len(monitor.body.taps))]
        if len(device_map.also_q16):
            inputs += [values.of(OWN), values.ratio()]
        logit, given = values.error_logit(), "map_input" if inputs else "0"
        if device_map.hidden:
            # The layer reads the error logit, too, in front of what the map reads.
            inputs, given = [logit, *inputs], "map_input + 1"
        return [
            *_inputs("map_input", inputs),
            *_hidden(device_map.hidden, len(inputs)),
            *_map("map", device_map, ""),
            "    result->uncertainty_q16 =",
            f"        {function}(&map, {given}, {logit}, result->predicted);",
        ]
    return [
        *_map("map", device_map, ""),
        "    result->uncertainty_q16 =",
        f"        {function}(&map, result->score_q16,",
        f"            {values.doubt()});",
    ]


def _hidden(layer: Hidden | None, inputs: int) -> list[str]:
    """The layer, which stands in for b0."""
    if layer is None:
        return []
    members = (f"settings->{field.name}" for field in hidden_fields(layer))
    return [
        "    const struct snapuq_hidden hidden = {",
        f"        {len(layer.out_q16)}, {inputs}, SNAP_MODEL_CLASSES,",
        *(f"        {member}," for member in members),
        "    };",
        f"    const int32_t {_HIDDEN} =",
        "        snapuq_hidden_q16(&hidden, settings->b0_q16, map_input, result->predicted);",
    ]


def _gated(
    name: str, device_map: Gated, values: _Values, result: str, prefix: str = ""
) -> list[str]:
    inputs = [values.of(gate) for gate in device_map.inputs]
    given = f"{name}_input" if inputs else "0"
    return [
        *_inputs(f"{name}_input", inputs),
        *_map(name, device_map, prefix),
        f"    result->{result}_q16 =",
        f"        {_map_function(device_map)}(&{name}, {given}, {values.error_logit()});",
    ]


def _inputs(name: str, inputs: list[str]) -> list[str]:
    lines = [f"    const int32_t {name}[] = {{", *(f"        {x}," for x in inputs), "    };"]
    return lines if inputs else []
