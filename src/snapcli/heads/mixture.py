"""A mixture of K diagonal Gaussians, the share of each depending on what the head sees.

e = -2/d (ln sum_k s_k exp(-q_k / 2) - ln sum_k s_k), q_k = |u_k|^2, s_k = share_k / prod(sigma_k):
the log density relative to that of an activation that every component predicted exactly. So e is
never negative, and with K = 1 it is the Gaussian's.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import TrainOptions
from snapcli.fixedpoint import (
    Energy,
    HeadS8,
    Multiplier,
    Residual,
    check_bias,
    check_components,
    check_multiplier,
    check_weights,
    exact_product,
    exp_q16,
    ln_q16,
    mean_q16,
    requantize,
)
from snapcli.heads.likelihood import Linear, MakeTraining, Prediction
from snapcli.stored import Arrays, check_values

COMPONENTS_MAX = 8


@dataclass(frozen=True, eq=False)
class EnergyMixture(Energy):
    """Fields of struct snapuq_energy_mixture: components K in [1, 8], inputs of the latent; the
    logits of the shares are weights int8 [K, inputs] times the latent plus bias int32 [K], by
    `logit` to Q16."""

    function: ClassVar[str] = "snapuq_energy_mixture_q16"
    takes_logarithms: ClassVar[bool] = True
    takes_inverse_sigma: ClassVar[bool] = True
    takes_latent: ClassVar[bool] = True
    components: int
    inputs: int
    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    logit: Multiplier

    def q16(self, residual: Residual) -> NDArray[np.uint32]:
        shape = (len(residual.u_q12), self.components, -1)
        u_q12 = residual.u_q12.reshape(shape)
        accumulator = exact_product(residual.latent, self.weights) + self.bias
        # -1/2 ln sigma^2 is ln(1 / sigma); the unit of 1 / sigma is common to all components.
        height_q16 = requantize(accumulator, self.logit.mantissa, self.logit.shift) + np.sum(
            ln_q16(residual.inverse_sigma_q9.reshape(shape)), axis=-1
        )
        half_q_q16 = np.sum(u_q12**2, axis=-1) >> 9
        below_q16 = _log_sum_exp_q16(height_q16) - _log_sum_exp_q16(height_q16 - half_q_q16)
        return mean_q16(2 * np.maximum(below_q16, 0), u_q12.shape[-1])

    def check(self, name: str, head: HeadS8) -> None:
        if self.inputs != head.inputs:
            raise ValueError(f"{name} mixes by {self.inputs} inputs of {head.inputs}")
        check_weights(f"{name}.weights", self.weights, (self.components, self.inputs))
        check_bias(f"{name}.bias", self.bias, self.components)
        check_multiplier(f"{name}.logit", self.logit)
        check_components(name, head, self.components)


def _log_sum_exp_q16(value_q16: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N, K] -> [N]."""
    top_q16 = value_q16.max(axis=-1)
    total_q16 = exp_q16(top_q16[:, np.newaxis] - value_q16).sum(axis=-1)
    return top_q16 + ln_q16(total_q16) - ln_q16(1 << 16)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Logits of the shares: weights [K, r] times the latent, plus bias [K]."""

    kind: ClassVar[str] = "mixture"
    integer: ClassVar[type[Energy]] = EnergyMixture
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

    def quantized(self, linear: Linear) -> EnergyMixture:
        shares = linear(self.weights, self.bias)
        rows, inputs = shares.weights.shape
        return EnergyMixture(rows, inputs, shares.weights, shares.bias, shares.to_q16)

    @classmethod
    def training(cls, options: TrainOptions) -> MakeTraining:
        return lambda channels, name: MixtureTraining(options.components, name)

    @classmethod
    def load(cls, saved: Arrays, name: str, channels: int, rank: int) -> "Mixture":
        bias = saved.array(f"{name}.bias", np.float64, (None,))
        check_values(f"{name}: components", np.array(len(bias)), 1, COMPONENTS_MAX)
        return cls(saved.array(f"{name}.weights", np.float64, (len(bias), rank)), bias)


class MixtureTraining:
    def __init__(self, components: int, name: str) -> None:
        from tf_keras import layers

        self.components = components
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
