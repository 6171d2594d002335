"""Where to abstain: U >= threshold."""

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.metrics import event_scores

NEVER = 1.0 + 2.0**-16
"""Above every U, also in the device's steps."""


def threshold_by_coverage(uncertainty: Array, coverage: float) -> float:
    """The smallest threshold that accepts at least `coverage` of these (clean dev) samples."""
    return just_above(uncertainty, int(np.ceil(coverage * len(uncertainty) - 1e-9)))


def threshold_by_budget(uncertainty: Array, budget: float) -> float:
    """The smallest threshold at which at most `budget` of these samples abstain."""
    return threshold_by_coverage(uncertainty, 1.0 - budget)


def just_above(uncertainty: Array, accepted: int) -> float:
    """The smallest threshold that accepts at least so many of these samples."""
    ordered = np.sort(uncertainty)
    if accepted == 0:
        return 0.0
    above = ordered[ordered > ordered[accepted - 1]]
    return float(above[0]) if len(above) else NEVER


def threshold_by_f1(uncertainty: Array, wrong: Bools) -> float:
    """The threshold with the best F1 for finding errors."""
    return event_scores.threshold_by_f1(uncertainty, wrong) if wrong.any() else NEVER


def threshold_by_youden(uncertainty: Array, wrong: Bools) -> float:
    """The threshold with the best J: the share of errors minus that of correct samples refused.

    The highest of equals; where nothing is better than chance, nothing is refused.
    """
    candidates = np.unique(uncertainty)

    def refused(part: Bools) -> NDArray[np.int64]:
        accepted = np.searchsorted(np.sort(uncertainty[part]), candidates)
        return np.asarray(part.sum() - accepted, np.int64)

    # J in whole numbers, times both totals: equals are equal.
    errors, correct = max(int(wrong.sum()), 1), max(int((~wrong).sum()), 1)
    j = refused(wrong) * correct - refused(~wrong) * errors
    best = len(j) - 1 - int(np.argmax(j[::-1]))
    return float(candidates[best]) if j[best] > 0 else NEVER
