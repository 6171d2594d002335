"""Selective prediction: the least uncertain are accepted, the others refused.

A threshold accepts equal scores together. A coverage is therefore the closest one from above that
a threshold can give, and so is every coverage under the curve. Scores [n]: higher is less certain.
Figures are [B], one for each row of weights [B, n].
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.metrics.ties import ROUNDING, Weights, before, first_reaching, grouped


class Accepted:
    """Sorted once for all figures and weights."""

    def __init__(self, wrong: Bools, value: Array, score: NDArray[np.number]) -> None:
        """wrong, value, score [n]; value: what is averaged beside the errors."""
        self._groups = grouped(score)
        self._wrong, self._value = wrong[self._groups.order], value[self._groups.order]

    def figures(self, weights: Weights, coverages: Sequence[float], at: float) -> Array:
        """[len(coverages) + 2, B]: the risk at each, AURC, mean value of the accepted at `at`."""
        ordered = self._groups.ordered(weights)
        accepted = self._groups.cumulated(ordered)
        errors = self._groups.cumulated(ordered * self._wrong)
        values = self._groups.cumulated(ordered * self._value)
        risks = [_mean_at(errors, accepted, coverage) for coverage in coverages]
        return np.stack([*risks, _area(errors, accepted), _mean_at(values, accepted, at)])


def risk_coverage(wrong: Bools, score: NDArray[np.number], points: int = 100) -> Array:
    """[points, 2]: (coverage, risk) at the thresholds next to coverages 1/points, ..., 1; where
    scores are equal, several points are one."""
    groups = grouped(score)
    ones = np.ones((1, len(score)))
    accepted, errors = (
        groups.cumulated(ones * values)[0] for values in (ones[0], wrong[groups.order])
    )
    wanted = np.arange(1, points + 1) / points * len(score)
    at = np.searchsorted(accepted, wanted * (1 - ROUNDING))
    return np.stack([accepted[at] / len(score), errors[at] / accepted[at]], axis=1)


def _mean_at(total: Array, accepted: Array, coverage: float) -> Array:
    at = first_reaching(accepted, coverage)
    mean = np.take_along_axis(total, at, axis=1) / np.take_along_axis(accepted, at, axis=1)
    return mean[:, 0]


def _area(errors: Array, accepted: Array) -> Array:
    risk = np.divide(errors, accepted, out=np.zeros_like(errors), where=accepted > 0)
    return np.sum((accepted - before(accepted)) * risk, axis=1) / accepted[:, -1]
