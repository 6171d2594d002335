"""Which map `auto` takes, from figures on dev data, on types that the maps have not seen."""

import math
from collections.abc import Mapping

from snapcli.metrics.detection import Detection, ErrorDetection

# The simplest first; temperature, which does not use S, last: a map that is no worse on dev may
# still react to what dev data do not show. class-gated is not tried: it ranks errors better, but no
# figure on dev says what it costs on foreign inputs.
BY_PREFERENCE = ("gated", "logistic-s", "logistic", "gated-taps", "isotonic", "temperature")
# AUROC that counts: a loss up to it is no harm, a difference below it is none.
MARGIN = 0.005
# What harm within the conditions weighs against a gain over all of them.
HARM_WEIGHT = 3.0
# Fewer errors than this say nothing: about harm to clean data, about maps and taps at all.
MIN_ERRORS = 10


def choose_kind(
    figures: Mapping[str, ErrorDetection], confidence: ErrorDetection, clean_errors: int
) -> tuple[str, str]:
    """(kind, why); figures of all BY_PREFERENCE, confidence: those of max-probability at the fitted
    temperature, from which gain and loss are counted.

    A map's worth is what it gains in pooled AUROC, less HARM_WEIGHT times its
    harm: what it loses per cell or on clean data beyond MARGIN. A map that does harm sees that
    conditions differ, but ranks worse within each. The first within MARGIN of the largest worth
    is taken.
    """
    judge_clean = clean_errors >= MIN_ERRORS
    too_few = f" Clean dev data has {_errors(clean_errors)}, too few to judge harm there."
    note = "" if judge_clean else too_few

    def gain(kind: str) -> float:
        if kind == "temperature":  # by definition; the device's rounding is not its gain
            return 0.0
        return _change(figures[kind].pooled, confidence.pooled)

    def loss(kind: str) -> float:
        if kind == "temperature":
            return 0.0
        parts = [_change(figures[kind].per_cell, confidence.per_cell)]
        parts += [_change(figures[kind].clean, confidence.clean)] if judge_clean else []
        return max(0.0, -min(parts))

    def worth(kind: str) -> float:
        return gain(kind) - HARM_WEIGHT * max(0.0, loss(kind) - MARGIN)

    def told(kind: str) -> str:
        return f"{kind} gains {gain(kind):+.3f} pooled and loses {loss(kind):.3f} within conditions"

    best = max(BY_PREFERENCE, key=worth)
    taken = next(kind for kind in BY_PREFERENCE if worth(kind) >= worth(best) - MARGIN)
    if taken == "temperature":
        nearest = max(BY_PREFERENCE[:-1], key=worth)
        return taken, f"No map with S is worth it: the best, {told(nearest)}.{note}"
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
