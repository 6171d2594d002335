"""Which map `auto` takes, from cross-fitted figures on dev data."""

import math
from collections.abc import Mapping

from snapcli.metrics.detection import Detection, ErrorDetection

# Maps that use S, the simplest first.
BY_SIMPLICITY = ("gated", "logistic-s", "logistic", "gated-taps", "isotonic")
TRIED = ("temperature", *BY_SIMPLICITY)
# AUROC that counts: a loss up to it is no harm, a gain below it is none.
MARGIN = 0.005
# What a loss within the conditions weighs against a gain over all of them.
_LOSS_WEIGHT = 3.0
# Fewer clean errors than this say nothing about harm to clean data.
MIN_CLEAN_ERRORS = 10


def choose_kind(
    figures: Mapping[str, ErrorDetection], confidence: ErrorDetection, clean_errors: int
) -> tuple[str, str]:
    """(kind, why); figures of all TRIED, confidence: those of max-probability alone.

    A map is harmless where its AUROC per cell and on clean data is at most MARGIN below that of
    max-probability: else it sees that conditions differ, but ranks worse within each. Of the
    harmless the simplest near the best pooled AUROC is taken. Where every map with S does harm,
    it is the one whose gain outweighs its loss most, if there is one.
    """
    judge_clean = clean_errors >= MIN_CLEAN_ERRORS
    too_few = f" Clean dev data has {_errors(clean_errors)}, too few to judge harm there."
    note = "" if judge_clean else too_few

    def gain(kind: str) -> float:
        return _change(figures[kind].pooled, confidence.pooled)

    def per_cell(kind: str) -> float:
        return _change(figures[kind].per_cell, confidence.per_cell)

    def harmless(kind: str) -> bool:
        on_clean = _change(figures[kind].clean, confidence.clean) if judge_clean else 0.0
        return min(per_cell(kind), on_clean) >= -MARGIN

    def worth(kind: str) -> float:
        return gain(kind) + _LOSS_WEIGHT * min(0.0, per_cell(kind))

    unharmful = [kind for kind in BY_SIMPLICITY if harmless(kind)]
    if not unharmful:
        best = max(BY_SIMPLICITY, key=worth)
        change = f"{gain(best):+.3f} pooled, {per_cell(best):+.3f} per cell"
        if worth(best) > 0:
            return best, (
                f"Every map with S does harm; {best} gains most for what it costs: {change}.{note}"
            )
        return "temperature", (
            f"Every map with S does harm, and the best, {best}, is not worth it: {change}.{note}"
        )
    best = max(unharmful, key=gain)
    if gain(best) < MARGIN:
        return "temperature", (
            f"No harmless map gains {MARGIN} pooled on max-probability; the best, {best}, "
            f"gains {gain(best):+.3f}.{note}"
        )
    taken = next(kind for kind in unharmful if gain(kind) >= gain(best) - MARGIN)
    change = f"{gain(taken):+.3f} pooled and {per_cell(taken):+.3f} per cell on max-probability"
    if taken == best:
        return taken, f"The best of the harmless maps: {change}.{note}"
    return taken, (
        f"The simplest harmless map within {MARGIN} of the best, {best}: {change}.{note}"
    )


def _change(found: Detection, reference: Detection) -> float:
    """Of the AUROC; where it is undefined there is nothing to gain or to lose."""
    change = found.auroc - reference.auroc
    return 0.0 if math.isnan(change) else change


def _errors(count: int) -> str:
    return f"{count or 'no'} error{'' if count == 1 else 's'}"
