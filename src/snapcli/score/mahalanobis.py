"""How far a pooled activation lies from the nearest class, a map's third input if asked for."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array

# Of more channels, the directions in which activations vary most are kept: [rank, channels]
# weights beyond this size would be the largest part of a monitor.
MAX_RANK = 64
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
        z = (pooled - self.mean) / self.deviation @ self.whitening.T
        centres = self.centres @ self.whitening.T
        away = [np.mean((z - centre) ** 2, axis=-1) for centre in centres]
        return np.min(away, axis=0)


def fit_mahalanobis(pooled: Array, labels: NDArray[np.int64]) -> Mahalanobis:
    """pooled [n, channels] of clean training data; a class without examples has no centre.

    The covariance is shrunk as Ledoit and Wolf do, so that it has an inverse.
    """
    from sklearn.covariance import ledoit_wolf

    mean, spread = pooled.mean(axis=0), pooled.std(axis=0)
    deviation = np.maximum(spread, max(_LEAST_DEVIATION * float(spread.max()), 1e-12))
    x = (pooled - mean) / deviation
    classes, index = np.unique(labels, return_inverse=True)
    centres = np.stack([x[index == k].mean(axis=0) for k in range(len(classes))])
    covariance, _ = ledoit_wolf(x - centres[index], assume_centered=True)
    variances, directions = np.linalg.eigh(covariance)
    kept = np.argsort(variances)[::-1][:MAX_RANK]
    # Data without any spread has no metric of its own.
    scale = np.sqrt(np.maximum(variances[kept], 1e-6))
    whitening = (directions[:, kept] / scale).T
    return Mahalanobis(mean, deviation, whitening, centres)
