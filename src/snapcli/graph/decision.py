"""From raw scores to a decision, in the device's numbers: what calibration fits."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.score.maps import Features, GatedMap, IsotonicMap, LogisticMap, Map

ONE_Q16 = 65536
DeviceMap = fx.MapGated | fx.MapLogistic | fx.MapIsotonic


@dataclass(frozen=True)
class Decision:
    """From raw scores to a decision: all that calibration fits, in the device's numbers.

    temperature is inside the exponential table; it is kept to say what the table holds.
    controller: None unless the threshold, from threshold_q16 on, follows a budget.
    """

    weight_q16: tuple[int, ...]
    temperature: float
    alpha_q16: int
    map: DeviceMap
    threshold_q16: int
    controller: fx.Budget | None = None


def uncertainty_q16(
    device_map: DeviceMap,
    score: NDArray[np.uint32],
    error_logit: NDArray[np.int32],
    doubt: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    if isinstance(device_map, fx.MapGated):
        return fx.map_gated_q16(device_map, score, error_logit)
    if isinstance(device_map, fx.MapLogistic):
        return fx.map_logistic_q16(device_map, score, doubt)
    return fx.map_isotonic_q16(device_map, score, doubt)


def on_device(fitted: Map) -> Callable[[Features], NDArray[np.float64]]:
    """A map as the device computes it: U in steps of 2^-16 from features of Monitor.features."""
    device_map = quantize_map(fitted)

    def scorer(features: Features) -> NDArray[np.float64]:
        uncertainty = uncertainty_q16(
            device_map,
            np.rint(features.score * ONE_Q16).astype(np.uint32),
            np.rint(features.error_logit * ONE_Q16).astype(np.int32),
            np.rint(features.doubt * ONE_Q16).astype(np.uint32),
        )
        return uncertainty / ONE_Q16

    return scorer


def quantize_map(fitted: Map) -> DeviceMap:
    def q16(value: float) -> int:
        return int(np.clip(round(value * ONE_Q16), -(2**31), 2**31 - 1))

    if isinstance(fitted, GatedMap):
        return fx.MapGated(q16(fitted.b0), q16(fitted.b1), q16(fitted.b2), q16(fitted.theta))
    if isinstance(fitted, LogisticMap):
        return fx.MapLogistic(q16(fitted.b0), q16(fitted.b1), q16(fitted.b2))
    assert isinstance(fitted, IsotonicMap)
    return fx.MapIsotonic(
        q16(fitted.gamma),
        np.asarray([q16(b) for b in fitted.breakpoints], np.uint32),
        np.asarray([q16(v) for v in fitted.values], np.uint32),
    )


_DEVICE_MAPS: dict[str, type[DeviceMap]] = {
    "gated": fx.MapGated,
    "logistic": fx.MapLogistic,
    "isotonic": fx.MapIsotonic,
}


def decision_to_dict(decision: Decision) -> dict[str, Any]:
    kind = next(k for k, v in _DEVICE_MAPS.items() if isinstance(decision.map, v))
    values = {k: np.asarray(v).tolist() for k, v in asdict(decision.map).items()}
    return {
        "weight_q16": list(decision.weight_q16),
        "temperature": decision.temperature,
        "alpha_q16": decision.alpha_q16,
        "map": {"kind": kind, **values},
        "threshold_q16": decision.threshold_q16,
        "controller": asdict(decision.controller) if decision.controller else None,
    }


def decision_from_dict(values: dict[str, Any]) -> Decision:
    parameters: dict[str, Any] = {
        k: np.asarray(v, np.uint32) if isinstance(v, list) else v
        for k, v in values["map"].items()
        if k != "kind"
    }
    kind = _DEVICE_MAPS[values["map"]["kind"]]
    return Decision(
        tuple(values["weight_q16"]),
        values["temperature"],
        values["alpha_q16"],
        kind(**parameters),
        values["threshold_q16"],
        fx.Budget(**values["controller"]) if values["controller"] else None,
    )


def plain_decision(taps: int) -> Decision:
    """Equal weights and a map that nothing was fitted to, for who only measures a body."""
    weights = fx.quantize_weights_q16([1.0] * taps)
    return Decision(
        weight_q16=tuple(int(w) for w in weights),
        temperature=1.0,
        alpha_q16=ONE_Q16 // 2,
        map=fx.MapGated(0, ONE_Q16, ONE_Q16, 0),
        threshold_q16=ONE_Q16,
    )
