"""Fitting a map on dev conditions and judging it on others, the same for float and int8.

A map that is judged has never seen the corruption types it is judged on (score/turns.py). The map
that is deployed is fitted on all types.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from snapcli.array import Array, Bools
from snapcli.config import FitOptions
from snapcli.metrics.detection import (
    Cell,
    Detection,
    ErrorDetection,
    Pool,
    error_detection,
    ood_detection,
)
from snapcli.score.choice import MIN_ERRORS, Worth, choose_kind, kinds_for
from snapcli.score.maps import Features, Map, fit, reads_third
from snapcli.score.promise import Promise, threshold_by_false_alarm, threshold_by_risk
from snapcli.score.threshold import (
    threshold_by_budget,
    threshold_by_coverage,
    threshold_by_f1,
    threshold_by_youden,
)
from snapcli.score.turns import turns

Scorer = Callable[[Features], Array]
Deploy = Callable[[Map], Scorer]
"""How a fitted map orders inputs where it runs; the device's version rounds as the device does."""

_AS_USUAL = FitOptions()

# What max-probability is called beside the maps.
CONFIDENCE = "max-probability"
_ASKED_FOR = {
    "percentile": "Asked for. U is a percentile of clean dev data, not a probability of error."
}


def in_float(fitted: Map) -> Scorer:
    return fitted.rank


@dataclass(frozen=True)
class Condition:
    """Features of n inputs, whether the prediction was wrong, [n] bool, and what ranks them as
    max-probability does, [n]: the logits' own, where features are at the fitted temperature."""

    features: Features
    wrong: Bools
    confidence: Array

    def where(self, chosen: Bools) -> "Condition":
        return Condition(self.features.where(chosen), self.wrong[chosen], self.confidence[chosen])

    def without_taps(self) -> "Condition":
        return replace(self, features=self.features.without_taps())


@dataclass(frozen=True)
class Conditions:
    """corrupted is keyed by (type, severity)."""

    clean: Condition
    corrupted: dict[tuple[str, int], Condition]

    def without_taps(self) -> "Conditions":
        corrupted = {key: c.without_taps() for key, c in self.corrupted.items()}
        return Conditions(self.clean.without_taps(), corrupted)

    def strongest(self) -> "list[Condition]":
        """Every type at its highest severity."""
        last = dict(sorted(self.corrupted))
        return [self.corrupted[name, severity] for name, severity in last.items()]

    def types(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.corrupted))

    def pool(self, types: Sequence[str], score: Callable[[Condition], Array]) -> Pool:
        """The clean data and these types, scored."""
        some = [Cell(c.wrong, score(c)) for (name, _), c in self.corrupted.items() if name in types]
        return Pool(Cell(self.clean.wrong, score(self.clean)), some)

    def errors(self) -> int:
        return sum(int(c.wrong.sum()) for c in (self.clean, *self.corrupted.values()))

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
    """dev: error detection on dev data of each map, on types that it has not seen, and that of
    max-probability; empty where there was nothing to choose, and then nobody knows the worth."""

    map: Map
    dev: dict[str, ErrorDetection]
    reason: str
    worth: Worth | None = None


@dataclass(frozen=True)
class DetectionReport:
    """Per score (U, S, max-probability): errors, and, F too, each OOD set against correct clean
    inputs."""

    errors: dict[str, ErrorDetection]
    ood: dict[str, dict[str, Detection]]


def fit_map(kind: str, dev: Conditions, types: Sequence[str], how: FitOptions = _AS_USUAL) -> Map:
    parts = [dev.clean, *(c for (name, _), c in dev.corrupted.items() if name in types)]
    clean = np.concatenate([np.full(len(p.wrong), i == 0) for i, p in enumerate(parts)])
    wrong = np.concatenate([p.wrong for p in parts])
    features = Features.concatenate([p.features for p in parts])
    return fit(kind, features, wrong, clean, how)


def judge(
    kind: str,
    dev: Conditions,
    test: Conditions,
    deploy: Deploy = in_float,
    how: FitOptions = _AS_USUAL,
) -> ErrorDetection:
    """Error detection on test by maps of that kind, fitted on dev, that have not seen the
    corruption types they score; each is judged by itself."""

    def scored(types: Sequence[str]) -> Callable[[Condition], Array]:
        scorer = deploy(fit_map(kind, dev, types, how))
        return lambda condition: scorer(condition.features)

    return error_detection(
        [test.pool(turn.judged, scored(turn.fitted)) for turn in turns(dev.types(), test.types())]
    )


def choose_map(
    kind: str,
    dev: Conditions,
    deploy: Deploy = in_float,
    how: FitOptions = _AS_USUAL,
    measured: bool = False,
) -> MapChoice:
    """The named map, or for `auto` the one that score/choice.py takes; fitted on all of dev.
    measured: F reads distances anyway."""
    if kind == "auto" and dev.errors() < MIN_ERRORS:
        reason = f"{dev.errors()} errors on dev data are too few to learn from: U is 1 - max p."
        return MapChoice(fit_map("temperature", dev, []), {}, reason)
    confidence = _plain_errors(dev, dev, attrgetter("confidence"))
    # The same map without S: a gain of the temperature is no gain of S.
    without = _plain_errors(dev, dev, attrgetter("features.error_logit"))
    kinds = kinds_for(dev.clean.features)
    tried = dict.fromkeys(kinds if kind == "auto" else (*kinds, kind))
    figures = {name: judge(name, dev, dev, deploy, how) for name in tried}
    worth = Worth(figures, without, int(dev.clean.wrong.sum()))
    taken, reason = kind, _ASKED_FOR.get(kind, "Asked for.")
    if kind == "auto":
        taken, reason = choose_kind(worth, measured)
    fitted = fit_map(taken, dev, dev.types(), how)
    if dev.clean.features.third is not None and not reads_third(fitted):
        reason += " The third input adds nothing and is left out."
    return MapChoice(fitted, {CONFIDENCE: confidence, **figures}, reason, worth)


def gain_of_taps(choice: MapChoice, dev: Conditions, deploy: Deploy, how: FitOptions) -> float:
    """Worth on dev of the map that was taken beyond the best of a monitor without heads; nan where
    there was nothing to choose."""
    if choice.worth is None:
        return math.nan
    bare = dev.without_taps()
    kinds = kinds_for(bare.clean.features)
    figures = {name: judge(name, bare, bare, deploy, how) for name in kinds}
    without = replace(choice.worth, figures=figures)
    return choice.worth.of(choice.map.kind) - without.of(without.best())


def _plain_errors(
    dev: Conditions, test: Conditions, score: Callable[[Condition], Array]
) -> ErrorDetection:
    """Error detection by what nothing was fitted for, on the pools that maps are judged on."""
    parts = turns(dev.types(), test.types())
    return error_detection([test.pool(turn.judged, score) for turn in parts])


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
    rule_of = threshold_by_youden if rule == "youden" else threshold_by_f1
    return ThresholdChoice(rule_of(everything, wrong))


def evaluate(
    fitted: Map,
    foreign: Map,
    dev: Conditions,
    test: Conditions,
    ood: Mapping[str, Condition],
    deploy: Deploy = in_float,
    how: FitOptions = _AS_USUAL,
) -> DetectionReport:
    """Errors by maps that have not seen their types; OOD sets, which no map has seen, by the
    deployed one."""
    by_map, by_foreign = deploy(fitted), deploy(foreign)
    scores: dict[str, Callable[[Condition], Array]] = {
        "U": lambda condition: by_map(condition.features),
        "F": lambda condition: by_foreign(condition.features),
        "S": attrgetter("features.score"),
        CONFIDENCE: attrgetter("confidence"),
    }
    if not test.clean.features.surprisal.shape[1]:
        del scores["S"]
    right = ~test.clean.wrong
    return DetectionReport(
        errors={
            "U": judge(fitted.kind, dev, test, deploy, how),
            **{
                name: _plain_errors(dev, test, scores[name])
                for name in scores
                if name not in ("U", "F")
            },
        },
        ood={
            set_name: {
                name: ood_detection(score(test.clean)[right], score(foreign))
                for name, score in scores.items()
            }
            for set_name, foreign in ood.items()
        },
    )
