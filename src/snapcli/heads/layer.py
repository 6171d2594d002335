"""A head while it is trained: a tf_keras layer around a likelihood (needs the extra `train`)."""

from typing import Any

import numpy as np

from snapcli.array import Array
from snapcli.fixedpoint.sigma import EPS
from snapcli.heads.head import Head
from snapcli.heads.likelihood import VARIANCE_RANGE, Prediction, Training
from snapcli.heads.quantize import folds, xi_steps

# Keeps channels that hardly ever fire from being standardized by next to nothing.
STANDARDIZE_EPSILON = 1e-3
# softplus(0.5413) = 1: at the start sigma is one standard deviation.
_XI_START = 0.5413


def rounded(weights: Any) -> Any:
    """To int8 steps, symmetric, one scale per tensor; gradients pass as if it were not there."""
    import tensorflow as tf

    scale = tf.maximum(tf.reduce_max(tf.abs(weights)) / 127, 1e-8)
    return weights + tf.stop_gradient(tf.round(weights / scale) * scale - weights)


def stepped(xi: Any, scale: Any, zero_point: Any) -> Any:
    """To 256 steps; gradients pass within their range."""
    import tensorflow as tf

    inside = tf.clip_by_value(xi, (-128 - zero_point) * scale, (127 - zero_point) * scale)
    return inside + tf.stop_gradient(tf.round(inside / scale) * scale - inside)


def build_layer(
    channels_before: int,
    channels_after: int,
    rank: int,
    name: str,
    likelihood: Training,
    classes: int = 0,
) -> Any:
    """A tf_keras layer: (before [n, C], after [n, d], predicted [n]) -> Prediction.

    rank 0: a latent that is always 0, so that mean and scale are the same for every input;
    classes: rows of the table that is added to the mean; 0 for none.
    """
    import tensorflow as tf
    from tf_keras import initializers, layers

    components = likelihood.components
    # Components that start alike would stay alike.
    spread = initializers.RandomNormal(stddev=0.3) if components > 1 else "zeros"

    class HeadLayer(layers.Layer):
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
            self.projector = layers.Dense(
                max(rank, 1),
                use_bias=False,
                kernel_initializer="glorot_uniform" if rank else "zeros",
                trainable=rank > 0,
                name=f"{name}_projector",
            )
            self.mean = layers.Dense(
                components * channels_after,
                kernel_initializer="zeros",
                bias_initializer=spread,
                name=f"{name}_mean",
            )
            self.xi = layers.Dense(
                components * channels_after,
                kernel_initializer="zeros",
                bias_initializer=initializers.Constant(_XI_START),
                name=f"{name}_xi",
            )
            if classes:
                self.class_mean = self.add_weight(
                    name=f"{name}_class_mean", shape=(classes, channels_after), initializer="zeros"
                )
            # (scale, zero point) of xi while int8 is simulated.
            self.xi_steps = self.add_weight(
                name=f"{name}_xi_steps", shape=(2,), initializer="ones", trainable=False
            )
            self.simulated = False
            self.folded = folds(max(rank, 1), channels_before, components * channels_after)
            self.likelihood = likelihood

        @property
        def learned(self) -> list[Any]:
            """Variables of the layer and of its likelihood."""
            return [*self.trainable_variables, *self.likelihood.variables]

        def standardize_by(self, before: Any, after: Any) -> None:
            """Takes mean and deviation from all activations at once instead of batches."""
            for norm, a in ((self.standardize_before, before), (self.standardize_after, after)):
                norm.moving_mean.assign(tf.reduce_mean(a, axis=0))
                norm.moving_variance.assign(tf.math.reduce_variance(a, axis=0))

        def simulate(self, before: Array) -> None:
            """From now on weights and xi are rounded as the export does it; before [n, C]: clean
            training data, which set the range of xi."""
            self.xi_steps.assign(xi_steps(self.fitted("", "").xi(before)))
            self.simulated = True

        def call(self, before: Any, after: Any, predicted: Any, training: bool = False) -> Any:
            x = self.standardize_before(before, training=training)
            actual = self.standardize_after(after, training=training)
            if classes:
                actual -= tf.gather(self._table(), predicted)
            if self.simulated:
                z, mean, xi = self._simulated(x)
            else:
                z = self.projector(x)
                mean, xi = self.mean(z), self.xi(z)
            if components > 1:
                shape = (-1, components, channels_after)
                mean, xi, actual = tf.reshape(mean, shape), tf.reshape(xi, shape), actual[:, None]
            sigma2 = tf.clip_by_value(tf.nn.softplus(xi) + EPS**2, *VARIANCE_RANGE)
            return Prediction(actual - mean, sigma2, z)

        def _table(self) -> Any:
            return rounded(self.class_mean) if self.simulated else self.class_mean

        def _simulated(self, x: Any) -> tuple[Any, Any, Any]:
            """(latent, mean, xi) with the integers' steps."""
            projector, outputs = self.projector.kernel, (self.mean, self.xi)
            if self.folded:
                # The product is what the device holds.
                z = x @ projector
                mean, xi = (x @ rounded(projector @ d.kernel) + d.bias for d in outputs)
            else:
                z = x @ rounded(projector)
                mean, xi = (z @ rounded(d.kernel) + d.bias for d in outputs)
            return z, mean, stepped(xi, self.xi_steps[0], self.xi_steps[1])

        def fitted(self, before: str, after: str) -> Head:
            def array(v: Any) -> Array:
                return np.asarray(v.numpy(), np.float64)

            # What the device holds; a folded product has no factors that would give it rounded.
            factors = self.simulated and not self.folded

            def kernel(dense: Any) -> Array:
                return array(rounded(dense.kernel) if factors else dense.kernel).T

            def deviation(norm: Any) -> Array:
                return np.sqrt(array(norm.moving_variance) + STANDARDIZE_EPSILON)

            return Head(
                before=before,
                after=after,
                before_mean=array(self.standardize_before.moving_mean),
                before_deviation=deviation(self.standardize_before),
                after_mean=array(self.standardize_after.moving_mean),
                after_deviation=deviation(self.standardize_after),
                projector=kernel(self.projector),
                mean_weights=kernel(self.mean),
                mean_bias=array(self.mean.bias),
                xi_weights=kernel(self.xi),
                xi_bias=array(self.xi.bias),
                class_mean=array(self._table()) if classes else np.zeros((0, channels_after)),
                likelihood=self.likelihood.fitted(),
            )

    layer = HeadLayer()
    before, after = tf.zeros((1, channels_before)), tf.zeros((1, channels_after))
    likelihood.nll(layer(before, after, tf.zeros((1,), tf.int64)))  # makes all variables
    return layer
