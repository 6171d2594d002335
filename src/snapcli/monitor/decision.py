"""From raw scores to a decision, in the device's numbers: what calibration fits."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.array import Array
from snapcli.config import MAHALANOBIS, NO_THIRD
from snapcli.score.maps import (
    OWN,
    SCORE,
    THIRD,
    ClassGatedMap,
    Features,
    Gate,
    GatedMap,
    HiddenUnit,
    LogisticMap,
    Map,
    tap_of,
)
from snapcli.stored import conform

ONE_Q16 = 65536


@dataclass(frozen=True, eq=False)
class Gated:
    """A gated map and what each of its gates reads: the names of score.maps.Gate.input."""

    parameters: fx.MapGated
    inputs: tuple[str, ...]


DeviceMap = Gated | fx.MapClassGated | fx.MapLogistic | fx.MapIsotonic


@dataclass(frozen=True)
class Decision:
    """From raw scores to a decision: all that calibration fits, in the device's numbers.

    temperature is inside the exponential table; it is kept to say what the table holds. third:
    one of config.THIRD_INPUTS, what the gate of that name reads. foreign: F, with a threshold of
    its own. controller: None unless the threshold, from threshold_q16 on, follows a budget.
    """

    weight_q16: tuple[int, ...]
    temperature: float
    alpha_q16: int
    map: DeviceMap
    threshold_q16: int
    foreign: Gated
    foreign_threshold_q16: int
    third: str = NO_THIRD
    controller: fx.Budget | None = None

    @property
    def reads_distance(self) -> bool:
        """Whether U, F or the third input needs the distances to the classes."""
        maps = (self.map, self.foreign)
        gated = any(isinstance(m, Gated) and OWN in m.inputs for m in maps)
        evidence = isinstance(self.map, fx.MapClassGated) and len(self.map.also_q16) > 0
        return gated or evidence or self.third == MAHALANOBIS


@dataclass(frozen=True, eq=False)
class MapInputs:
    """Features in the device's numbers.

    score, doubt uint32 [n]; error_logit int32 [n]; surprisal uint32 [n, taps]; answer int32 [n] in
    [0, classes); third int32 [n], zeros without a third input; distance uint32 [n, 2], to the
    answered and the next class, zeros where none are measured.
    """

    score_q16: NDArray[np.uint32]
    error_logit_q16: NDArray[np.int32]
    doubt_q16: NDArray[np.uint32]
    surprisal_q16: NDArray[np.uint32]
    answer: NDArray[np.int32]
    classes: int
    third_q16: NDArray[np.int32]
    distance_q16: NDArray[np.uint32]

    def features(self, third: bool, distances: bool) -> Features:
        return Features(
            self.score_q16 / ONE_Q16,
            self.error_logit_q16 / ONE_Q16,
            self.doubt_q16 / ONE_Q16,
            self.surprisal_q16 / ONE_Q16,
            self.answer.astype(np.int64),
            self.classes,
            self.third_q16 / ONE_Q16 if third else None,
            self.distance_q16 / ONE_Q16 if distances else None,
        )


def map_inputs(features: Features) -> MapInputs:
    """The inverse of MapInputs.features."""

    def q16(values: Array, dtype: type) -> NDArray[Any]:
        return np.rint(values * ONE_Q16).astype(dtype)

    third = np.zeros_like(features.score) if features.third is None else features.third
    distances = features.distances
    if distances is None:
        distances = np.zeros((len(features.score), 2))
    return MapInputs(
        q16(features.score, np.uint32),
        q16(features.error_logit, np.int32),
        q16(features.doubt, np.uint32),
        q16(features.surprisal, np.uint32),
        features.answer.astype(np.int32),
        features.classes,
        q16(third, np.int32),
        q16(distances, np.uint32),
    )


def uncertainty_q16(device_map: DeviceMap, given: MapInputs) -> NDArray[np.uint32]:
    if isinstance(device_map, Gated):
        inputs = np.empty((len(given.score_q16), len(device_map.inputs)), np.int32)
        for j, name in enumerate(device_map.inputs):
            inputs[:, j] = _gate_input(name, given)
        return fx.map_gated_q16(device_map.parameters, inputs, given.error_logit_q16)
    if isinstance(device_map, fx.MapClassGated):
        inputs = fx.ln_of_q16(given.surprisal_q16).astype(np.int32)
        if len(device_map.also_q16):
            own, following = fx.ln_of_q16(given.distance_q16).astype(np.int32).T
            inputs = np.column_stack([inputs, own, own - following])
        return fx.map_class_gated_q16(device_map, inputs, given.error_logit_q16, given.answer)
    if isinstance(device_map, fx.MapLogistic):
        return fx.map_logistic_q16(device_map, given.score_q16, given.doubt_q16)
    return fx.map_isotonic_q16(device_map, given.score_q16, given.doubt_q16)


def _gate_input(name: str, given: MapInputs) -> NDArray[np.int64] | NDArray[np.int32]:
    if name == THIRD:
        return given.third_q16
    if name == OWN:
        return fx.ln_of_q16(given.distance_q16[:, 0])
    tap = tap_of(name)
    return fx.ln_of_q16(given.score_q16 if tap is None else given.surprisal_q16[:, tap])


def on_device(fitted: Map) -> Callable[[Features], Array]:
    """A map as the device computes it: U in steps of 2^-16 from features of Monitor.features."""
    device_map = quantize_map(fitted)

    def scorer(features: Features) -> Array:
        return uncertainty_q16(device_map, map_inputs(features)) / ONE_Q16

    return scorer


def quantize_map(fitted: Map) -> DeviceMap:
    if isinstance(fitted, GatedMap):
        return quantize_gated(fitted)
    if isinstance(fitted, ClassGatedMap):
        taps = fitted.taps
        tables: dict[str, Sequence[float]] = {
            "slope_q16": [tap.slope for tap in taps],
            "theta_q16": [tap.theta for tap in taps],
            "inverse_cap_q16": [1.0 / tap.cap for tap in taps],
            "also_q16": (fitted.own, fitted.ratio) if fitted.reads_distance else (),
            "offset_q16": fitted.offset,
            "strange_offset_q16": fitted.strange_offset,
        }
        return fx.MapClassGated(
            b0_q16=_q16(fitted.b0),
            b2_q16=_q16(fitted.b2),
            familiar_q16=_q16(fitted.familiar),
            hidden=_quantize_hidden(fitted.hidden),
            **{name: _q16s(values) for name, values in tables.items()},
        )
    if isinstance(fitted, LogisticMap):
        return fx.MapLogistic(_q16(fitted.b0), _q16(fitted.b1), _q16(fitted.b2))
    return fx.MapIsotonic(
        _q16(fitted.gamma),
        np.asarray([_q16(b) for b in fitted.breakpoints], np.uint32),
        np.asarray([_q16(v) for v in fitted.values], np.uint32),
    )


def quantize_gated(fitted: GatedMap) -> Gated:
    slopes = np.array([_q16(gate.slope) for gate in fitted.gates], np.int32)
    thetas = np.array([_q16(gate.theta) for gate in fitted.gates], np.int32)
    parameters = fx.MapGated(_q16(fitted.b0), _q16(fitted.b2), slopes, thetas)
    return Gated(parameters, tuple(gate.input for gate in fitted.gates))


def _quantize_hidden(units: tuple[HiddenUnit, ...]) -> fx.Hidden | None:
    if not units:
        return None
    return fx.Hidden(*(_q16s([getattr(u, n) for u in units]) for n in ("out", "weight", "bias")))


def _q16s(values: Sequence[Any]) -> NDArray[np.int32]:
    scaled = np.rint(np.array(values, np.float64) * ONE_Q16)
    return np.clip(scaled, -(2**31), 2**31 - 1).astype(np.int32)


def _q16(value: float) -> int:
    return int(np.clip(round(value * ONE_Q16), -(2**31), 2**31 - 1))


def decision_to_dict(decision: Decision) -> dict[str, Any]:
    maps = {name: _map_to_dict(getattr(decision, name)) for name in ("map", "foreign")}
    return {**asdict(decision), **maps}


@dataclass(frozen=True)
class _Stored:
    """A Decision as JSON has it."""

    weight_q16: tuple[int, ...]
    temperature: float
    alpha_q16: int
    map: dict[str, Any]
    threshold_q16: int
    foreign: dict[str, Any]
    foreign_threshold_q16: int
    third: str
    controller: fx.Budget | None


def decision_from_dict(values: Any) -> Decision:
    """What decision_to_dict made, after JSON; raises ValueError for what is not of that form."""
    stored: _Stored = conform(_Stored, values, "device")
    foreign = _map_from_dict(stored.foreign)
    if not isinstance(foreign, Gated):
        raise ValueError("foreign is not a gated map")
    return Decision(**{**vars(stored), "map": _map_from_dict(stored.map), "foreign": foreign})


def plain_decision(taps: int) -> Decision:
    """Equal weights and a map that was fitted to nothing: enough to measure what a body costs."""
    gates = (Gate(SCORE, 1.0, 0.0),) if taps else ()
    plain = quantize_gated(GatedMap("gated", 0.0, 1.0, gates))
    return Decision(
        weight_q16=quantize_weights(np.ones(taps)),
        temperature=1.0,
        alpha_q16=ONE_Q16 // 2,
        map=plain,
        threshold_q16=ONE_Q16,
        foreign=plain,
        foreign_threshold_q16=ONE_Q16,
    )


def quantize_weights(weights: Array) -> tuple[int, ...]:
    """Of the taps, real, [taps]; none without taps."""
    return tuple(int(w) for w in fx.quantize_weights_q16(weights)) if len(weights) else ()


_KINDS = {
    fx.MapClassGated: "class-gated",
    fx.MapLogistic: "logistic",
    fx.MapIsotonic: "isotonic",
}


def _map_to_dict(device_map: DeviceMap) -> dict[str, Any]:
    head: dict[str, Any]
    if isinstance(device_map, Gated):
        head = {"kind": "gated", "inputs": list(device_map.inputs)}
        parameters = asdict(device_map.parameters)
    else:
        head = {"kind": _KINDS[type(device_map)]}
        parameters = asdict(device_map)
    layer = parameters.pop("hidden", None)
    if isinstance(device_map, fx.MapClassGated):
        head["hidden"] = layer and {k: v.tolist() for k, v in layer.items()}
    return {**head, **{k: np.asarray(v).tolist() for k, v in parameters.items()}}


@dataclass(frozen=True)
class _GatedValues:
    b0_q16: int
    b2_q16: int
    slope_q16: tuple[int, ...]
    theta_q16: tuple[int, ...]
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class _HiddenValues:
    out_q16: tuple[int, ...]
    weight_q16: tuple[tuple[int, ...], ...]
    bias_q16: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _ClassGatedValues:
    b0_q16: int
    b2_q16: int
    familiar_q16: int
    slope_q16: tuple[int, ...]
    theta_q16: tuple[int, ...]
    inverse_cap_q16: tuple[int, ...]
    also_q16: tuple[int, ...]
    offset_q16: tuple[int, ...]
    strange_offset_q16: tuple[int, ...]
    hidden: _HiddenValues | None


@dataclass(frozen=True)
class _IsotonicValues:
    gamma_q16: int
    breakpoint_q16: tuple[int, ...]
    value_q16: tuple[int, ...]


def _map_from_dict(values: dict[str, Any]) -> DeviceMap:
    kind = values.get("kind")
    if kind == "logistic":
        logistic: fx.MapLogistic = conform(fx.MapLogistic, values, "map")
        return logistic
    if kind == "isotonic":
        steps: _IsotonicValues = conform(_IsotonicValues, values, "map")
        return fx.MapIsotonic(
            steps.gamma_q16,
            np.array(steps.breakpoint_q16, np.uint32),
            np.array(steps.value_q16, np.uint32),
        )
    if kind == "class-gated":
        found: _ClassGatedValues = conform(_ClassGatedValues, values, "map")
        parts = dict(vars(found))
        layer, scalars = parts.pop("hidden"), ("b0_q16", "b2_q16", "familiar_q16")
        if layer:
            layer = fx.Hidden(*(np.array(part, np.int32) for part in vars(layer).values()))
        tables = {n: np.array(v, np.int32) for n, v in parts.items() if n not in scalars}
        return fx.MapClassGated(**{**parts, **tables}, hidden=layer)
    if kind != "gated":
        raise ValueError("its map is of no kind that is known")
    gated: _GatedValues = conform(_GatedValues, values, "map")
    gates = np.array(gated.slope_q16, np.int32), np.array(gated.theta_q16, np.int32)
    return Gated(fx.MapGated(gated.b0_q16, gated.b2_q16, *gates), gated.inputs)
