"""Diagonal Gaussian head: p(after | before) = N(mean, diag(sigma^2)) of pooled activations.

Worked example, one channel before and after, already standardized:
before = 0.5, projector = 1, mean weight = 2 -> mean = 1.0; xi = 0 -> sigma^2 = ln 2;
after = 1.5 -> e = 0.25 / ln 2 = 0.36.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.surprisal import EPS, VARIANCE_MAX, VARIANCE_MIN

VARIANCE_RANGE = (VARIANCE_MIN, VARIANCE_MAX)
# Keeps channels that hardly ever fire from being standardized by next to nothing.
STANDARDIZE_EPSILON = 1e-3

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GaussianHead:
    """Fitted parameters; C channels before, d after, rank r.

    before_mean, before_deviation: [C]; after_mean, after_deviation: [d];
    projector: [r, C]; mean_weights, xi_weights: [d, r]; mean_bias, xi_bias: [d].
    """

    before: str
    after: str
    before_mean: Array
    before_deviation: Array
    after_mean: Array
    after_deviation: Array
    projector: Array
    mean_weights: Array
    mean_bias: Array
    xi_weights: Array
    xi_bias: Array

    def latent(self, before: Array) -> Array:
        """[n, C] pooled activations -> [n, r]."""
        return (before - self.before_mean) / self.before_deviation @ self.projector.T

    def xi(self, before: Array) -> Array:
        """[n, C] -> [n, d], the raw scale output."""
        return self.latent(before) @ self.xi_weights.T + self.xi_bias

    def surprisal(self, before: Array, after: Array) -> Array:
        """e [n]: mean over channels of the squared standardized residual; about 1 when it fits."""
        mean = self.latent(before) @ self.mean_weights.T + self.mean_bias
        residual = (after - self.after_mean) / self.after_deviation - mean
        return np.mean(residual**2 / variance(self.xi(before)), axis=-1)


def tapped_blocks(heads: list[GaussianHead]) -> list[str]:
    """The blocks on both sides of every tap."""
    return [name for head in heads for name in (head.before, head.after)]


def save_heads(heads: list[GaussianHead], path: Path) -> None:
    arrays = {
        f"{i}.{field.name}": np.asarray(getattr(head, field.name))
        for i, head in enumerate(heads)
        for field in fields(head)
    }
    np.savez(path, **arrays)  # type: ignore[arg-type]


def load_heads(path: Path) -> list[GaussianHead]:
    names = [field.name for field in fields(GaussianHead)]
    with np.load(path) as saved:
        count = len(saved.files) // len(names)
        return [
            GaussianHead(*(_plain(saved[f"{i}.{name}"]) for name in names)) for i in range(count)
        ]


def _plain(array: NDArray[Any]) -> Any:
    return array if array.ndim else str(array)


def variance(xi: Array) -> Array:
    """sigma^2 = softplus(xi) + eps^2, clamped to the range of the device's table."""
    return np.clip(np.logaddexp(0.0, xi) + EPS**2, *VARIANCE_RANGE)


def build_layer(channels_before: int, channels_after: int, rank: int, name: str) -> Any:
    """A tf_keras layer: (before [n, C], after [n, d]) -> (residual, variance)."""
    import tensorflow as tf
    from tf_keras import layers

    class GaussianHeadLayer(layers.Layer):
        def __init__(self) -> None:
            super().__init__(name=name)

            def standardize(part: str) -> Any:
                return layers.BatchNormalization(
                    center=False,
                    scale=False,
                    momentum=0.9,
                    epsilon=STANDARDIZE_EPSILON,
                    name=f"{name}_{part}",
                )

            self.standardize_before = standardize("before")
            self.standardize_after = standardize("after")
            self.projector = layers.Dense(rank, use_bias=False, name=f"{name}_projector")
            self.mean = layers.Dense(
                channels_after, kernel_initializer="zeros", name=f"{name}_mean"
            )
            # softplus(0.5413) = 1: at the start sigma is one standard deviation.
            self.xi = layers.Dense(
                channels_after,
                kernel_initializer="zeros",
                bias_initializer=tf.keras.initializers.Constant(0.5413),
                name=f"{name}_xi",
            )

        def standardize_by(self, before: Any, after: Any) -> None:
            """Takes mean and deviation from all activations at once instead of batches."""
            for norm, a in ((self.standardize_before, before), (self.standardize_after, after)):
                norm.moving_mean.assign(tf.reduce_mean(a, axis=0))
                norm.moving_variance.assign(tf.math.reduce_variance(a, axis=0))

        def call(self, pair: tuple[Any, Any], training: bool = False) -> tuple[Any, Any]:
            before, after = pair
            z = self.projector(self.standardize_before(before, training=training))
            residual = self.standardize_after(after, training=training) - self.mean(z)
            sigma2 = tf.clip_by_value(tf.nn.softplus(self.xi(z)) + EPS**2, *VARIANCE_RANGE)
            return residual, sigma2

        def fitted(self, before: str, after: str) -> GaussianHead:
            def array(v: Any) -> Array:
                return np.asarray(v.numpy(), np.float64)

            def deviation(norm: Any) -> Array:
                return np.sqrt(array(norm.moving_variance) + STANDARDIZE_EPSILON)

            return GaussianHead(
                before=before,
                after=after,
                before_mean=array(self.standardize_before.moving_mean),
                before_deviation=deviation(self.standardize_before),
                after_mean=array(self.standardize_after.moving_mean),
                after_deviation=deviation(self.standardize_after),
                projector=array(self.projector.kernel).T,
                mean_weights=array(self.mean.kernel).T,
                mean_bias=array(self.mean.bias),
                xi_weights=array(self.xi.kernel).T,
                xi_bias=array(self.xi.bias),
            )

    layer = GaussianHeadLayer()
    layer((tf.zeros((1, channels_before)), tf.zeros((1, channels_after))))
    return layer


def negative_log_likelihood(residual: Any, sigma2: Any) -> Any:
    """Width-normalised Gaussian NLL without its constant, mean over the batch (TensorFlow)."""
    import tensorflow as tf

    return 0.5 * tf.reduce_mean(residual**2 / sigma2 + tf.math.log(sigma2))
