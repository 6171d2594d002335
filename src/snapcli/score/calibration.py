"""Fitting a map on dev conditions and judging it on others, the same for float and int8.

A map that is judged has never seen the corruption types it is judged on: types are dealt into
two halves, a map is fitted on each half (and clean data), and each judges the other half. The
map that is deployed is fitted on all types.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.metrics.detection import (
    Cell,
    Detection,
    ErrorDetection,
    error_detection,
    ood_detection,
)
from snapcli.score.choice import BY_PREFERENCE, choose_kind
from snapcli.score.maps import Features, Map, fit, reads_third
from snapcli.score.promise import Promise, threshold_by_false_alarm, threshold_by_risk
from snapcli.score.threshold import (
    threshold_by_budget,
    threshold_by_coverage,
    threshold_by_f1,
    threshold_by_youden,
)

Array = NDArray[np.float64]
Scorer = Callable[[Features], Array]
Deploy = Callable[[Map], Scorer]
"""How a fitted map is computed where it runs; the device's version rounds as the device does."""

# What max-probability is called beside the maps.
CONFIDENCE = "max-probability"
_ASKED_FOR = {
    "percentile": "Asked for. U is a percentile of clean dev data, not a probability of error."
}


def in_float(fitted: Map) -> Scorer:
    return fitted


@dataclass(frozen=True)
class Condition:
    """Features of n inputs and whether the prediction was wrong, [n] bool."""

    features: Features
    wrong: NDArray[np.bool_]

    def where(self, chosen: NDArray[np.bool_]) -> "Condition":
        return Condition(self.features.where(chosen), self.wrong[chosen])


@dataclass(frozen=True)
class Conditions:
    """corrupted is keyed by (type, severity)."""

    clean: Condition
    corrupted: dict[tuple[str, int], Condition]

    def types(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.corrupted))

    def accuracy(self) -> float:
        return float(1.0 - self.clean.wrong.mean())

    def accuracy_by_severity(self) -> dict[str, float]:
        """{severity: mean over all types}."""
        severities = sorted({severity for _, severity in self.corrupted})
        return {
            str(severity): float(
                np.mean(
                    [1.0 - c.wrong.mean() for (_, s), c in self.corrupted.items() if s == severity]
                )
            )
            for severity in severities
        }


@dataclass(frozen=True)
class MapChoice:
    """dev: cross-fitted error detection of each map on dev data, and that of max-probability."""

    map: Map
    dev: dict[str, ErrorDetection]
    reason: str


@dataclass(frozen=True)
class DetectionReport:
    """Per score (U, S, max-probability): errors, and each OOD set against correct clean inputs."""

    errors: dict[str, ErrorDetection]
    ood: dict[str, dict[str, Detection]]


def fit_map(kind: str, dev: Conditions, types: list[str], balanced: bool = True) -> Map:
    parts = [dev.clean, *(c for (name, _), c in dev.corrupted.items() if name in types)]
    clean = np.concatenate([np.full(len(p.wrong), i == 0) for i, p in enumerate(parts)])
    wrong = np.concatenate([p.wrong for p in parts])
    features = Features.concatenate([p.features for p in parts])
    return fit(kind, features, wrong, clean, balanced)


def halves(types: list[str]) -> tuple[list[str], list[str]]:
    """What is fitted on the types of one judges those of the other."""
    return types[0::2], types[1::2]


def judge(
    kind: str,
    dev: Conditions,
    test: Conditions,
    deploy: Deploy = in_float,
    balanced: bool = True,
) -> ErrorDetection:
    """Error detection on test by a map of that kind, fitted on dev, that has not seen the
    corruption type it scores."""
    first, second = halves(dev.types())
    on_first, on_second = (deploy(fit_map(kind, dev, half, balanced)) for half in (first, second))
    cells = [
        Cell(c.wrong, (on_second if name in first else on_first)(c.features))
        for (name, _), c in test.corrupted.items()
    ]
    # Both maps have a right to judge clean data; their mean is comparable with either.
    clean = test.clean
    return error_detection(
        Cell(clean.wrong, (on_first(clean.features) + on_second(clean.features)) / 2), cells
    )


def choose_map(
    kind: str, dev: Conditions, deploy: Deploy = in_float, balanced: bool = True
) -> MapChoice:
    """The named map, or for `auto` the one that score/choice.py takes; fitted on all of dev."""
    confidence = _plain_errors(dev, "error_logit")
    tried = dict.fromkeys(BY_PREFERENCE if kind == "auto" else (*BY_PREFERENCE, kind))
    figures = {name: judge(name, dev, dev, deploy, balanced) for name in tried}
    taken, reason = kind, _ASKED_FOR.get(kind, "Asked for.")
    if kind == "auto":
        taken, reason = choose_kind(figures, confidence, int(dev.clean.wrong.sum()))
    fitted = fit_map(taken, dev, dev.types(), balanced)
    if dev.clean.features.third is not None and not reads_third(fitted):
        reason += " The third input adds nothing and is left out."
    return MapChoice(fitted, {CONFIDENCE: confidence, **figures}, reason)


def _plain_errors(judged: Conditions, feature: str) -> ErrorDetection:
    """Error detection by a feature itself."""
    cells = [Cell(c.wrong, getattr(c.features, feature)) for c in judged.corrupted.values()]
    clean = Cell(judged.clean.wrong, getattr(judged.clean.features, feature))
    return error_detection(clean, cells)


@dataclass(frozen=True)
class ThresholdChoice:
    """promise: what the rule could show about the threshold, None where it shows nothing."""

    threshold: float
    promise: Promise | None = None


def choose_threshold(
    rule: str, target: float, scorer: Scorer, dev: Conditions, held_out: Condition | None = None
) -> ThresholdChoice:
    """held_out: clean examples that neither map nor temperature nor weights have seen; only the
    rules that promise something need them."""
    clean = scorer(dev.clean.features)
    if rule == "coverage":
        return ThresholdChoice(threshold_by_coverage(clean, target))
    if held_out is not None:
        promised = threshold_by_risk if rule == "risk" else threshold_by_false_alarm
        judged = Cell(held_out.wrong, scorer(held_out.features))
        return ThresholdChoice(*promised(Cell(dev.clean.wrong, clean), judged, target))
    rest = [scorer(c.features) for c in dev.corrupted.values()]
    everything = np.concatenate([clean, *rest])
    if rule == "budget":
        return ThresholdChoice(threshold_by_budget(everything, target))
    wrong = np.concatenate([dev.clean.wrong, *(c.wrong for c in dev.corrupted.values())])
    found = threshold_by_youden if rule == "youden" else threshold_by_f1
    return ThresholdChoice(found(everything, wrong))


def evaluate(
    fitted: Map,
    dev: Conditions,
    test: Conditions,
    ood: dict[str, Features],
    deploy: Deploy = in_float,
    balanced: bool = True,
) -> DetectionReport:
    """Errors with cross-fitted maps; OOD sets, which no map has seen, with the deployed one."""

    scorer = deploy(fitted)
    right = ~test.clean.wrong
    clean = test.clean.features
    return DetectionReport(
        errors={
            "U": judge(fitted.kind, dev, test, deploy, balanced),
            "S": _plain_errors(test, "score"),
            CONFIDENCE: _plain_errors(test, "error_logit"),
        },
        ood={
            name: {
                "U": ood_detection(scorer(clean)[right], scorer(f)),
                "S": ood_detection(clean.score[right], f.score),
                CONFIDENCE: ood_detection(clean.error_logit[right], f.error_logit),
            }
            for name, f in ood.items()
        },
    )
