"""Huber: quadratic up to delta, linear beyond: e = mean(2 rho(u)); comparisons are all it needs."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from snapcli.heads.prediction import Array, Prediction


@dataclass(frozen=True)
class Huber:
    """delta: in standard deviations."""

    kind: ClassVar[str] = "huber"
    components: ClassVar[int] = 1
    delta: float

    def energy(self, prediction: Prediction) -> Array:
        size = np.abs(prediction.residual) / np.sqrt(prediction.variance)
        return np.mean(self._twice_rho(size), axis=-1)

    def expected(self) -> float:
        """Under the density that is proportional to exp(-rho)."""
        from scipy.integrate import quad

        def density(u: float) -> float:
            return float(np.exp(-self._twice_rho(np.asarray(u)) / 2))

        def part(f: Any) -> float:
            return float(quad(f, 0, self.delta)[0] + quad(f, self.delta, np.inf)[0])

        weighted = part(lambda u: float(self._twice_rho(np.asarray(u))) * density(u))
        return weighted / part(density)

    def _twice_rho(self, size: Array) -> Array:
        return np.where(size <= self.delta, size**2, self.delta * (2 * size - self.delta))


class HuberTraining:
    def __init__(self, delta: float) -> None:
        self.delta = delta
        self.variables: list[Any] = []

    def nll(self, prediction: Prediction) -> Any:
        import tensorflow as tf

        sigma2 = prediction.variance
        size = tf.abs(prediction.residual) / tf.sqrt(sigma2)
        rho = tf.where(size <= self.delta, 0.5 * size**2, self.delta * size - 0.5 * self.delta**2)
        return tf.reduce_mean(rho + 0.5 * tf.math.log(sigma2))

    def fitted(self) -> Huber:
        return Huber(self.delta)
