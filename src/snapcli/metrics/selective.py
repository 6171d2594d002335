"""Selective prediction: the least uncertain are accepted, the others refused.

A threshold accepts equal scores together. A coverage is therefore the closest one from above that
a threshold can give, and so is every coverage under the curve. Scores [n]: higher is less certain.
Figures are [B], one for each row of weights [B, n].
"""

import numpy as np
from numpy.typing import NDArray

from snapcli.metrics.ties import ROUNDING, Array, Weights, before, first_reaching, grouped


def risk_at_coverage(
    wrong: NDArray[np.bool_], score: NDArray[np.number], weights: Weights, coverage: float
) -> Array:
    """Error rate among the accepted; coverage in (0, 1]."""
    return mean_accepted(wrong, score, weights, coverage)


def mean_accepted(
    value: NDArray[np.bool_] | Array, score: NDArray[np.number], weights: Weights, coverage: float
) -> Array:
    """Mean of the values [n] of the accepted; coverage in (0, 1]."""
    accepted, total = _cumulated(value, score, weights)
    at = first_reaching(accepted, coverage)
    mean = np.take_along_axis(total, at, axis=1) / np.take_along_axis(accepted, at, axis=1)
    return mean[:, 0]


def aurc(wrong: NDArray[np.bool_], score: NDArray[np.number], weights: Weights) -> Array:
    """Area under the risk-coverage curve: the mean risk over the coverages 1/n, 2/n, ..., 1."""
    accepted, errors = _cumulated(wrong, score, weights)
    risk = np.divide(errors, accepted, out=np.zeros_like(errors), where=accepted > 0)
    return np.sum((accepted - before(accepted)) * risk, axis=1) / accepted[:, -1]


def risk_coverage(wrong: NDArray[np.bool_], score: NDArray[np.number], points: int = 100) -> Array:
    """[k, 2] with rising coverage, k <= points: (coverage, risk) next to 1/points, ..., 1."""
    accepted, errors = (c[0] for c in _cumulated(wrong, score, np.ones((1, len(score)))))
    wanted = np.arange(1, points + 1) / points * len(score)
    at = np.unique(np.searchsorted(accepted, wanted * (1 - ROUNDING)))
    return np.stack([accepted[at] / len(score), errors[at] / accepted[at]], axis=1)


def _cumulated(
    value: NDArray[np.bool_] | Array, score: NDArray[np.number], weights: Weights
) -> tuple[Array, Array]:
    """(accepted, sum of their values) at each threshold, [B, groups]."""
    groups = grouped(score)
    ordered = groups.ordered(weights)
    return groups.cumulated(ordered), groups.cumulated(ordered * value[groups.order])
