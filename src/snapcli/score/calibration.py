"""Fitting a map on dev conditions and judging it on others, the same for float and int8.

A map that is judged has never seen the corruption types it is judged on: types are dealt into
two halves, a map is fitted on each half (and clean data), and each judges the other half. The
map that is deployed is fitted on all types.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from snapcli.metrics.detection import (
    Cell,
    Detection,
    ErrorDetection,
    error_detection,
    ood_detection,
)
from snapcli.score.maps import MAPS, Features, Map
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


HARM = 0.01


def in_float(fitted: Map) -> Scorer:
    return fitted


@dataclass(frozen=True)
class Condition:
    """Features of n inputs and whether the prediction was wrong, [n] bool."""

    features: Features
    wrong: NDArray[np.bool_]

    def where(self, chosen: NDArray[np.bool_]) -> "Condition":
        columns = {f.name: getattr(self.features, f.name)[chosen] for f in fields(self.features)}
        return Condition(Features(**columns), self.wrong[chosen])


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
    """dev: cross-fitted error detection of each map on dev data."""

    map: Map
    dev: dict[str, ErrorDetection]
    reason: str


@dataclass(frozen=True)
class DetectionReport:
    """Per score (U, S, max-probability): errors, and each OOD set against correct clean inputs."""

    errors: dict[str, ErrorDetection]
    ood: dict[str, dict[str, Detection]]


def fit_map(kind: str, dev: Conditions, types: list[str]) -> Map:
    parts = [dev.clean, *(c for (name, _), c in dev.corrupted.items() if name in types)]
    clean = np.concatenate([np.full(len(p.wrong), i == 0) for i, p in enumerate(parts)])
    wrong = np.concatenate([p.wrong for p in parts])
    return MAPS[kind].fit(Features.concatenate([p.features for p in parts]), wrong, clean)


def _halves(types: list[str]) -> tuple[list[str], list[str]]:
    return types[0::2], types[1::2]


def _cross_fitted(kind: str, dev: Conditions, judged: Conditions, deploy: Deploy) -> ErrorDetection:
    """Error detection of U where no map has seen the type that it scores."""
    first, second = _halves(dev.types())
    on_first, on_second = (deploy(fit_map(kind, dev, half)) for half in (first, second))
    cells = [
        Cell(c.wrong, (on_second if name in first else on_first)(c.features))
        for (name, _), c in judged.corrupted.items()
    ]
    # Both maps have a right to judge clean data; their mean is comparable with either.
    clean = judged.clean
    return error_detection(
        Cell(clean.wrong, (on_first(clean.features) + on_second(clean.features)) / 2), cells
    )


def choose_map(kind: str, dev: Conditions, deploy: Deploy = in_float) -> MapChoice:
    """The named map, or for `auto` the one that finds most errors on dev without doing harm.

    Harm is a per-cell AUROC more than HARM below that of max-probability: such a map sees that
    conditions differ, but ranks worse within each. The best of the harmless in pooled AUROC is
    taken, or the least harmful where none is harmless.
    """
    types = dev.types()
    figures = {name: _cross_fitted(name, dev, dev, deploy) for name in MAPS}
    if kind != "auto":
        return MapChoice(fit_map(kind, dev, types), figures, "asked for")
    limit = _plain_errors(dev, "error_logit").per_cell.auroc - HARM
    harmless = [name for name in MAPS if figures[name].per_cell.auroc >= limit]
    if harmless:
        best = max(harmless, key=lambda name: figures[name].pooled.auroc)
    else:
        best = max(MAPS, key=lambda name: figures[name].per_cell.auroc)
    each = ", ".join(
        f"{name} {f.pooled.auroc:.3f} / {f.per_cell.auroc:.3f}" for name, f in figures.items()
    )
    reason = f"AUROC pooled / per cell on dev: {each}; per cell at least {limit:.3f}"
    return MapChoice(fit_map(best, dev, types), figures, reason)


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
) -> DetectionReport:
    """Errors with cross-fitted maps; OOD sets, which no map has seen, with the deployed one."""

    scorer = deploy(fitted)
    right = ~test.clean.wrong
    clean = test.clean.features
    return DetectionReport(
        errors={
            "U": _cross_fitted(fitted.kind, dev, test, deploy),
            "S": _plain_errors(test, "score"),
            "max-probability": _plain_errors(test, "error_logit"),
        },
        ood={
            name: {
                "U": ood_detection(scorer(clean)[right], scorer(f)),
                "S": ood_detection(clean.score[right], f.score),
                "max-probability": ood_detection(clean.error_logit[right], f.error_logit),
            }
            for name, f in ood.items()
        },
    )
