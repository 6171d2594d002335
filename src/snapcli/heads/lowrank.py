"""Diagonal plus low rank: channels that err together, Sigma = diag(sigma^2) + B B^T.

Woodbury: with C = B / sigma and M = I + C^T C, v^T Sigma^-1 v = |u|^2 - |L^-1 C^T u|^2, where
M = L L^T is k x k. The second term is never negative: what is usual together counts less.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from snapcli.heads.prediction import Array, Prediction


@dataclass(frozen=True, eq=False)
class LowRank:
    """factor: B [d, k], in standard deviations of the activation."""

    kind: ClassVar[str] = "lowrank"
    components: ClassVar[int] = 1
    factor: Array

    def energy(self, prediction: Prediction) -> Array:
        sigma = np.sqrt(prediction.variance)
        u = prediction.residual / sigma
        return (np.sum(u**2, axis=-1) - self.correction(u, sigma)) / u.shape[-1]

    def correction(self, u: Array, sigma: Array) -> Array:
        """What the correlations explain of |u|^2: [n], not negative."""
        scaled = self.factor / sigma[..., None]
        inner = np.eye(self.factor.shape[1]) + np.swapaxes(scaled, -1, -2) @ scaled
        seen = np.swapaxes(scaled, -1, -2) @ u[..., None]
        solved = np.linalg.solve(np.linalg.cholesky(inner), seen)
        return np.sum(solved[..., 0] ** 2, axis=-1)

    def expected(self) -> float:
        return 1.0


class LowRankTraining:
    def __init__(self, channels: int, rank: int, name: str) -> None:
        import tensorflow as tf
        from tf_keras import initializers

        # Not zero: there the gradient of B is zero as well.
        start = initializers.RandomNormal(stddev=0.1)((channels, rank))
        self.factor = tf.Variable(start, name=f"{name}_factor")
        self.variables: list[Any] = [self.factor]

    def nll(self, prediction: Prediction) -> Any:
        import tensorflow as tf

        sigma = tf.sqrt(prediction.variance)
        u = prediction.residual / sigma
        scaled = self.factor / sigma[..., None]
        inner = tf.eye(self.factor.shape[1]) + tf.matmul(scaled, scaled, transpose_a=True)
        root = tf.linalg.cholesky(inner)
        seen = tf.matmul(scaled, u[..., None], transpose_a=True)
        explained = tf.reduce_sum(tf.linalg.triangular_solve(root, seen) ** 2, axis=(-1, -2))
        log_det = 2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(root)), axis=-1)
        diagonal = tf.reduce_sum(u**2 + tf.math.log(prediction.variance), axis=-1)
        return 0.5 * tf.reduce_mean(diagonal - explained + log_det) / u.shape[-1]

    def fitted(self) -> LowRank:
        return LowRank(np.asarray(self.factor.numpy(), np.float64))
