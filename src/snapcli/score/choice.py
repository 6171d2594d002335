"""Which map `auto` takes, from figures on dev data, on types that the maps have not seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from snapcli.config import EVIDENCE, MAPS_WITHOUT_TAPS
from snapcli.metrics.detection import Detection, ErrorDetection
from snapcli.score.maps import Features

# The simplest first; temperature, which does not use S, last: a map that is no worse on dev may
# still react to what dev data do not show. Without heads there is nothing that it could react to.
BY_PREFERENCE = (
    *("gated", "logistic-s", "logistic", "gated-taps", "isotonic", "class-gated", EVIDENCE),
    "temperature",
)
# AUROC that counts: a loss up to it is no harm, a difference below it is none.
MARGIN = 0.005
# What distances have to be worth beyond a map without them: they cost kilobytes, and about as many
# instructions as a head.
DISTANCES = 0.01
# What harm within the conditions weighs against a gain over all of them.
HARM_WEIGHT = 3.0
# Fewer errors than this say nothing: about harm to clean data, about maps and taps at all.
MIN_ERRORS = 10


def kinds_for(features: Features) -> tuple[str, ...]:
    """Those of BY_PREFERENCE that these features can feed, the preferred ones first."""
    kinds = BY_PREFERENCE if features.surprisal.shape[1] else MAPS_WITHOUT_TAPS
    return tuple(k for k in kinds if k != EVIDENCE or features.distances is not None)


@dataclass(frozen=True)
class Worth:
    """What maps gain on dev data, counted from max-probability at the fitted temperature. figures:
    the preferred maps first.

    A map's worth is its gain in pooled AUROC and what it gains within the conditions: per cell or
    on clean data, whichever is less. If that is a loss beyond MARGIN, it counts HARM_WEIGHT times:
    a map that does harm sees that conditions differ, but ranks worse within each. With too few
    clean errors to judge, cells alone count.
    """

    figures: Mapping[str, ErrorDetection]
    confidence: ErrorDetection
    clean_errors: int

    @property
    def judges_clean(self) -> bool:
        return self.clean_errors >= MIN_ERRORS

    def gain(self, kind: str) -> float:
        if kind == "temperature":  # by definition; the device's rounding is not its gain
            return 0.0
        return _change(self.figures[kind].pooled, self.confidence.pooled)

    def within(self, kind: str) -> float:
        if kind == "temperature":
            return 0.0
        parts = [_change(self.figures[kind].per_cell, self.confidence.per_cell)]
        if self.judges_clean:
            parts.append(_change(self.figures[kind].clean, self.confidence.clean))
        return min(parts)

    def of(self, kind: str) -> float:
        within = self.within(kind)
        harm = HARM_WEIGHT * min(0.0, within + MARGIN)
        return self.gain(kind) + (within if within > 0 else harm)

    def best(self) -> str:
        return max(self.figures, key=self.of)


def choose_kind(worth: Worth, measured: bool = False) -> tuple[str, str]:
    """(kind, why): the first of the preferred ones within MARGIN of the largest worth, evidence
    less what its distances cost. measured: F reads them anyway, so that evidence costs no more than
    class-gated does."""
    too_few = f" Clean dev data has {_errors(worth.clean_errors)}, too few to judge harm there."
    note = "" if worth.judges_clean else too_few
    tried = list(worth.figures)
    if measured and EVIDENCE in tried:
        tried.remove(EVIDENCE)
        tried.insert(tried.index("class-gated"), EVIDENCE)

    def told(kind: str) -> str:
        gain, within = worth.gain(kind), worth.within(kind)
        return f"{kind} gains {gain:+.3f} pooled and {within:+.3f} within conditions"

    def net(kind: str) -> float:
        return worth.of(kind) - (DISTANCES if kind == EVIDENCE and not measured else 0.0)

    best = max(tried, key=net)
    taken = next(kind for kind in tried if net(kind) >= net(best) - MARGIN)
    if taken == "temperature":
        nearest = max((kind for kind in tried if kind != taken), key=net)
        return taken, f"No other map is worth it: the best, {told(nearest)}.{note}"
    if best == "temperature":
        return (
            taken,
            f"No map finds more errors on dev, but this one costs nothing: {told(taken)}.{note}",
        )
    if taken == best:
        return taken, f"Of all maps, {told(taken)}: the best balance.{note}"
    return taken, f"The simplest within {MARGIN} of the best, {best}: {told(taken)}.{note}"


def _change(detection: Detection, reference: Detection) -> float:
    """Of the AUROC; where it is undefined there is nothing to gain or to lose."""
    change = detection.auroc - reference.auroc
    return 0.0 if math.isnan(change) else change


def _errors(count: int) -> str:
    return f"{count or 'no'} error{'' if count == 1 else 's'}"
