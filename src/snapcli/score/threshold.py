"""Where to abstain: U >= threshold."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve

Array = NDArray[np.float64]


def threshold_by_coverage(uncertainty: Array, coverage: float) -> float:
    """The smallest threshold that accepts at least `coverage` of these (clean dev) samples."""
    return _just_above(uncertainty, int(np.ceil(coverage * len(uncertainty) - 1e-9)))


def threshold_by_budget(uncertainty: Array, budget: float) -> float:
    """The smallest threshold at which at most `budget` of these samples abstain."""
    return threshold_by_coverage(uncertainty, 1.0 - budget)


def _just_above(uncertainty: Array, accepted: int) -> float:
    ordered = np.sort(uncertainty)
    if accepted == 0:
        return 0.0
    above = ordered[ordered > ordered[accepted - 1]]
    return float(above[0]) if len(above) else 1.0 + 2.0**-16


def threshold_by_f1(uncertainty: Array, wrong: NDArray[np.bool_]) -> float:
    """The threshold with the best F1 for finding errors."""
    if not wrong.any():
        return 1.0 + 2.0**-16
    precision, recall, thresholds = precision_recall_curve(wrong, uncertainty)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return float(thresholds[int(np.argmax(f1[:-1]))])
