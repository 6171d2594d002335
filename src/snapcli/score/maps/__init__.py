"""Maps from (S, confidence) to U, the probability that the prediction is wrong.

Each is fitted on dev data and is called on Features; rank() orders inputs as U does. The
fixed-point twins are in fixedpoint/maps.py.
"""

from dataclasses import asdict
from typing import Any

from snapcli.array import Bools
from snapcli.config import FitOptions
from snapcli.score.maps.class_gated import ClassGatedMap, TapGate, fit_class_gated
from snapcli.score.maps.features import Features, log_of
from snapcli.score.maps.gated import (
    OWN,
    SCORE,
    THIRD,
    Gate,
    GatedMap,
    fit_gated,
    tap_input,
    tap_of,
    temperature,
)
from snapcli.score.maps.hidden import HiddenUnit
from snapcli.score.maps.logistic import LogisticMap, fit_logistic
from snapcli.score.maps.staircase import (
    MAX_BREAKPOINTS,
    PERCENTILES,
    StaircaseMap,
    fit_isotonic,
    fit_percentile,
)

__all__ = [
    "MAX_BREAKPOINTS",
    "OWN",
    "PERCENTILES",
    "SCORE",
    "THIRD",
    "ClassGatedMap",
    "Features",
    "Gate",
    "GatedMap",
    "HiddenUnit",
    "LogisticMap",
    "Map",
    "StaircaseMap",
    "TapGate",
    "fit",
    "log_of",
    "map_to_dict",
    "reads_distance",
    "reads_surprise",
    "reads_third",
    "tap_input",
    "tap_of",
    "temperature",
]

_AS_USUAL = FitOptions()

Map = GatedMap | ClassGatedMap | LogisticMap | StaircaseMap


def fit(
    kind: str,
    features: Features,
    wrong: Bools,
    clean: Bools,
    how: FitOptions = _AS_USUAL,
) -> Map:
    """kind: one of config.MAPS; wrong and clean say of each of n inputs whether it is so."""
    match kind:
        case "temperature":
            return temperature()
        case "gated" | "gated-taps":
            return fit_gated(features, wrong, clean, how.balanced, per_tap=kind == "gated-taps")
        case "class-gated" | "evidence":
            return fit_class_gated(kind, features, wrong, clean, how)
        case "logistic" | "logistic-s":
            return fit_logistic(features, wrong, how.balanced, with_doubt=kind == "logistic")
        case "isotonic":
            return fit_isotonic(features, wrong)
        case "percentile":
            return fit_percentile(features, clean)
    raise ValueError(f"no map is called {kind}")


def reads_third(fitted: Map) -> bool:
    return isinstance(fitted, GatedMap) and any(gate.input == THIRD for gate in fitted.gates)


def reads_distance(fitted: Map) -> bool:
    """Whether it reads the distances to the answered and the next class."""
    match fitted:
        case GatedMap(gates=gates):
            return any(gate.input == OWN for gate in gates)
        case ClassGatedMap():
            return fitted.reads_distance
    return False


def reads_surprise(fitted: Map) -> bool:
    """Whether U depends on S or on a tap at all: a fitted slope may have come out as nothing."""
    match fitted:
        case GatedMap(gates=gates):
            return any(gate.input not in (THIRD, OWN) for gate in gates)
        case ClassGatedMap(familiar=familiar, taps=taps, strange_offset=offset, hidden=hidden):
            slopes = (familiar, *(tap.slope for tap in taps), *offset, *hidden)
            return bool(taps) and any(slopes)
        case LogisticMap(b1=b1):
            return b1 > 0
        case StaircaseMap(gamma=gamma):
            return gamma > 0


def map_to_dict(fitted: Map) -> dict[str, Any]:
    return asdict(fitted)
