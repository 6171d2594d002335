"""How well a score ranks positives above negatives."""

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.metrics.ties import Weights, before, first_reaching, grouped

RECALL = 0.95


class Ranked:
    """Sorted once for all figures and weights. A figure is [B], nan where a class has no weight."""

    def __init__(self, positive: Bools, score: NDArray[np.number]) -> None:
        """positive, score [n]: a higher score should mean positive."""
        self._groups = grouped(np.negative(score, dtype=np.float64))
        self._positive = positive[self._groups.order]

    def figures(self, weights: Weights, recall: float = RECALL) -> Array:
        """[3, B]: AUROC, average precision, false positive rate at the recall."""
        hits, alarms = self._cumulated(weights)
        return np.stack([_auroc(hits, alarms), _ap(hits, alarms), _fpr(hits, alarms, recall)])

    def auroc(self, weights: Weights) -> Array:
        """The chance that a positive has the higher score; equals count half."""
        return _auroc(*self._cumulated(weights))

    def average_precision(self, weights: Weights) -> Array:
        """Precision at every threshold, weighted with the recall that it adds."""
        return _ap(*self._cumulated(weights))

    def fpr_at_recall(self, weights: Weights, recall: float = RECALL) -> Array:
        """Share of negatives at or above the largest threshold that finds `recall` of the
        positives."""
        return _fpr(*self._cumulated(weights), recall)

    def _cumulated(self, weights: Weights) -> tuple[Array, Array]:
        """(positives, all) at or above each threshold, [B, groups]."""
        ordered = self._groups.ordered(weights)
        positives = self._groups.cumulated(ordered * self._positive)
        return positives, self._groups.cumulated(ordered)


def _auroc(hits: Array, alarms: Array) -> Array:
    false = alarms - hits
    # Trapezoids under the curve of hits over false alarms, in units of both totals.
    area = 0.5 * np.sum((false - before(false)) * (hits + before(hits)), axis=1)
    return _defined(area, hits[:, -1] * false[:, -1], hits, alarms)


def _ap(hits: Array, alarms: Array) -> Array:
    precision = np.divide(hits, alarms, out=np.zeros_like(hits), where=alarms > 0)
    area = np.sum((hits - before(hits)) * precision, axis=1)
    return _defined(area, hits[:, -1], hits, alarms)


def _fpr(hits: Array, alarms: Array, recall: float) -> Array:
    false = np.take_along_axis(alarms - hits, first_reaching(hits, recall), axis=1)[:, 0]
    return _defined(false, alarms[:, -1] - hits[:, -1], hits, alarms)


def _defined(part: Array, whole: Array, hits: Array, alarms: Array) -> Array:
    """part / whole where there are positives and negatives."""
    both = (hits[:, -1] > 0) & (hits[:, -1] < alarms[:, -1])
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=both)
