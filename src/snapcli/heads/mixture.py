"""A mixture of K diagonal Gaussians, the share of each depending on what the head sees.

e = -2/d (ln sum_k s_k exp(-q_k / 2) - ln sum_k s_k), q_k = |u_k|^2, s_k = share_k / prod(sigma_k):
the log density relative to that of an activation that every component predicted exactly. So e is
never negative, and with K = 1 it is the Gaussian's.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from snapcli.heads.prediction import Array, Prediction


@dataclass(frozen=True, eq=False)
class Mixture:
    """Logits of the shares: weights [K, r] times the latent, plus bias [K]."""

    kind: ClassVar[str] = "mixture"
    weights: Array
    bias: Array

    @property
    def components(self) -> int:
        return len(self.bias)

    def energy(self, prediction: Prediction) -> Array:
        from scipy.special import logsumexp

        heights = self.log_heights(prediction)
        q = np.sum(prediction.residual**2 / prediction.variance, axis=-1)
        reached = logsumexp(heights - 0.5 * q, axis=-1) - logsumexp(heights, axis=-1)
        return -2.0 * reached / prediction.residual.shape[-1]

    def log_heights(self, prediction: Prediction) -> Array:
        """ln s_k up to a constant, [n, K]."""
        logits = prediction.latent @ self.weights.T + self.bias
        return logits - 0.5 * np.sum(np.log(prediction.variance), axis=-1)

    def expected(self) -> float:
        return float("nan")


class MixtureTraining:
    def __init__(self, components: int, name: str) -> None:
        from tf_keras import layers

        self.logits = layers.Dense(components, kernel_initializer="zeros", name=f"{name}_shares")

    @property
    def variables(self) -> list[Any]:
        return list(self.logits.trainable_variables)

    def nll(self, prediction: Prediction) -> Any:
        import tensorflow as tf

        shares = tf.nn.log_softmax(self.logits(prediction.latent))
        sigma2 = prediction.variance
        terms = prediction.residual**2 / sigma2 + tf.math.log(sigma2)
        joint = tf.reduce_logsumexp(shares - 0.5 * tf.reduce_sum(terms, axis=-1), axis=-1)
        return -tf.reduce_mean(joint) / sigma2.shape[-1]

    def fitted(self) -> Mixture:
        kernel, bias = (np.asarray(v.numpy(), np.float64) for v in self.variables)
        return Mixture(kernel.T, bias)
