"""Distance to the nearest class, by class means and one covariance for all classes: diagonal at the
taps, or full at the last one."""

from collections.abc import Sequence

import numpy as np

from snapcli.array import Array
from snapcli.methods.method import Batch, Dev, SinglePass
from snapcli.methods.tuning import chosen_from, errors_auroc
from snapcli.score.mahalanobis import MAX_RANK, fit_mahalanobis

# The paper's: of a tap's mean variance, so that it means the same at every tap.
_SHRINKAGES = (0.0, 1e-4, 1e-3)


class MahalanobisDiagonal(SinglePass):
    """min over classes of sum_l w_l / d_l sum_i (a_i - mean_i)^2 / variance_i."""

    name = "mahalanobis-diagonal"
    source = (
        "Lee et al., A Simple Unified Framework for Detecting Out-of-Distribution Samples and "
        "Adversarial Attacks, 2018; diagonal, at SNAP's taps"
    )

    def __init__(self, taps: Sequence[str]) -> None:
        """taps: the blocks whose pooled channels are looked at."""
        self._taps = list(taps)

    def fit(self, train: Batch, dev: Dev) -> None:
        classes = range(train.logits.shape[1])
        present = [k for k in classes if np.any(train.y == k)]
        self.means_ = {
            tap: np.stack([train.outputs[tap][train.y == k].mean(axis=0) for k in present])
            for tap in self._taps
        }
        place = {k: i for i, k in enumerate(present)}
        rows = np.array([place[k] for k in train.y.tolist()])
        self.variances_ = {
            tap: np.square(train.outputs[tap] - self.means_[tap][rows]).mean(axis=0)
            for tap in self._taps
        }

        def auroc_at(shrinkage: float, weights: tuple[float, ...]) -> float:
            self.shrinkage_, self.weights_ = shrinkage, weights
            return errors_auroc(self, dev)

        grid = {"shrinkage": _SHRINKAGES, "weights": _weights(len(self._taps))}
        self.tuning_ = chosen_from(grid, auroc_at)
        self.shrinkage_ = self.tuning_.chosen["shrinkage"]
        self.weights_ = self.tuning_.chosen["weights"]

    def score(self, batch: Batch) -> Array:
        total = sum(
            weight * self._of_tap(tap, batch.outputs[tap])
            for tap, weight in zip(self._taps, self.weights_, strict=True)
            if weight
        )
        return np.asarray(total).min(axis=-1)

    def _of_tap(self, tap: str, pooled: Array) -> Array:
        """[n, classes]: mean squared distance over the channels."""
        variance = self.variances_[tap]
        # A channel that never changes in training says nothing finite.
        usual = float(variance.mean()) or 1.0
        scale = 1.0 / np.maximum(variance + self.shrinkage_ * usual, 1e-9 * usual)
        # Expanded, for [n, classes, channels] would not fit; from the middle of the classes, for
        # the squares of what lies far from zero would drown the differences.
        middle = self.means_[tap].mean(axis=0)
        means, pooled = self.means_[tap] - middle, pooled - middle
        square = (pooled**2 @ scale)[:, None] + (means**2 @ scale)[None]
        distance = square - 2.0 * (pooled * scale) @ means.T
        return np.maximum(distance, 0.0) / len(scale)


def _weights(taps: int) -> list[tuple[float, ...]]:
    """Each tap alone, and all of them alike."""
    alone = [tuple(float(i == j) for j in range(taps)) for i in range(taps)]
    return [*alone, (1.0 / taps,) * taps] if taps > 1 else alone


class MahalanobisFull(SinglePass):
    """The distance that a map may take as its third input, by itself."""

    name = "mahalanobis-full"
    source = (
        "Lee et al., A Simple Unified Framework for Detecting Out-of-Distribution Samples and "
        "Adversarial Attacks, 2018; Ledoit-Wolf shrinkage"
    )

    def __init__(self, taps: Sequence[str]) -> None:
        self._tap = taps[-1]

    def fit(self, train: Batch, dev: Dev) -> None:
        self.distance_ = fit_mahalanobis(
            train.outputs[self._tap], train.y, train.logits.shape[1], MAX_RANK
        )

    def score(self, batch: Batch) -> Array:
        return self.distance_.distance(batch.outputs[self._tap])
