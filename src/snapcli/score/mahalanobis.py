"""How far a pooled activation lies from the classes: the answered, the next, the nearest."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array

# Of more channels, the directions in which activations vary most are kept.
MAX_RANK = 64
# In a monitor: half the bytes and instructions for hardly less AUROC (docs/evidence.md).
MONITOR_RANK = 32
# A channel that varies less than this share of the liveliest one is standardized by that.
_LEAST_DEVIATION = 1e-2


@dataclass(frozen=True)
class Mahalanobis:
    """Class means and one covariance for all classes, of activations in standard deviations.

    mean, deviation: [channels]; whitening: [rank, channels], which makes the covariance within
    classes the identity; centres: [classes, channels], not whitened.
    """

    mean: Array
    deviation: Array
    whitening: Array
    centres: Array

    def distance(self, pooled: Array) -> Array:
        """[n, channels] -> [n]: squared distance to the nearest class / rank, about 1 if clean."""
        return np.asarray(self._distances(pooled).min(axis=-1))

    def to_answer_and_next(self, pooled: Array, answer: NDArray[np.int64]) -> Array:
        """[n, channels], [n] -> [n, 2]: to the answered class and to the nearest other."""
        distances, rows = self._distances(pooled), np.arange(len(pooled))
        own = distances[rows, answer]
        distances[rows, answer] = np.inf
        return np.stack([own, distances.min(axis=-1)], axis=-1)

    def _distances(self, pooled: Array) -> Array:
        """[n, classes]."""
        z = (pooled - self.mean) / self.deviation @ self.whitening.T
        centres = self.centres @ self.whitening.T
        return np.stack([np.mean((z - centre) ** 2, axis=-1) for centre in centres], axis=-1)


def fit_mahalanobis(
    pooled: Array, labels: NDArray[np.int64], classes: int, rank: int = MONITOR_RANK
) -> Mahalanobis:
    """pooled [n, channels] of clean training data, labels [n] in [0, classes); a class without
    examples gets the mean of all as its centre.

    The covariance is shrunk as Ledoit and Wolf do, so that it has an inverse.
    """
    from sklearn.covariance import ledoit_wolf

    mean, spread = pooled.mean(axis=0), pooled.std(axis=0)
    deviation = np.maximum(spread, max(_LEAST_DEVIATION * float(spread.max()), 1e-12))
    x = (pooled - mean) / deviation
    centres = np.zeros((classes, x.shape[1]))
    for k in np.unique(labels):
        centres[k] = x[labels == k].mean(axis=0)
    covariance, _ = ledoit_wolf(x - centres[labels], assume_centered=True)
    variances, directions = np.linalg.eigh(covariance)
    kept = np.argsort(variances)[::-1][:rank]
    # Data without any spread has no metric of its own.
    scale = np.sqrt(np.maximum(variances[kept], 1e-6))
    whitening = (directions[:, kept] / scale).T
    return Mahalanobis(mean, deviation, whitening, centres)
