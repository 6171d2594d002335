"""Huber: quadratic up to delta, linear beyond: e = mean(2 rho(u)); comparisons are all it needs."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import TrainOptions
from snapcli.fixedpoint import Energy, HeadS8, Residual, check_between, mean_q16
from snapcli.heads.likelihood import Linear, MakeTraining, Prediction
from snapcli.stored import Arrays

_DELTA_RANGE, _DELTA_LIMIT_Q12 = (0.1, 10.0), 16 << 12


@dataclass(frozen=True)
class EnergyHuber(Energy):
    """Fields of struct snapuq_energy_huber; 0 < delta < 16."""

    function: ClassVar[str] = "snapuq_energy_huber_q16"
    delta_q12: int

    def q16(self, residual: Residual) -> NDArray[np.uint32]:
        size_q12, delta_q12 = np.abs(residual.u_q12), self.delta_q12
        linear_q24 = delta_q12 * (2 * size_q12 - delta_q12)
        total_q24 = np.sum(np.where(size_q12 <= delta_q12, size_q12**2, linear_q24), axis=-1)
        return mean_q16(total_q24 >> 8, residual.u_q12.shape[-1])

    def check(self, name: str, head: HeadS8) -> None:
        super().check(name, head)
        check_between(f"{name}.delta_q12", self.delta_q12, 1, _DELTA_LIMIT_Q12 - 1)


@dataclass(frozen=True)
class Huber:
    """delta: in standard deviations."""

    kind: ClassVar[str] = "huber"
    integer: ClassVar[type[Energy]] = EnergyHuber
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

    def quantized(self, linear: Linear) -> EnergyHuber:
        return EnergyHuber(round(self.delta * (1 << 12)))

    @classmethod
    def training(cls, options: TrainOptions) -> MakeTraining:
        return lambda channels, name: HuberTraining(options.delta)

    @classmethod
    def load(cls, saved: Arrays, name: str, channels: int, rank: int) -> "Huber":
        return cls(saved.number(f"{name}.delta", *_DELTA_RANGE))


class HuberTraining:
    components = 1

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
