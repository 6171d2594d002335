"""Diagonal Gaussian: every channel by itself, e = mean(u^2) with u = residual / sigma."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import TrainOptions
from snapcli.fixedpoint import Energy, Residual, mean_q16
from snapcli.heads.likelihood import Linear, MakeTraining, Prediction
from snapcli.stored import Arrays


@dataclass(frozen=True)
class EnergyGaussian(Energy):
    """It has no parameters."""

    function: ClassVar[str] = "snapuq_energy_gaussian_q16"

    def q16(self, residual: Residual) -> NDArray[np.uint32]:
        total_q24 = np.sum(residual.u_q12**2, axis=-1)
        return mean_q16(total_q24 >> 8, residual.u_q12.shape[-1])


@dataclass(frozen=True)
class Gaussian:
    kind: ClassVar[str] = "gaussian"
    integer: ClassVar[type[Energy]] = EnergyGaussian
    components: ClassVar[int] = 1

    def energy(self, prediction: Prediction) -> Array:
        return np.mean(prediction.residual**2 / prediction.variance, axis=-1)

    def expected(self) -> float:
        return 1.0

    def quantized(self, linear: Linear) -> EnergyGaussian:
        return EnergyGaussian()

    @classmethod
    def training(cls, options: TrainOptions) -> MakeTraining:
        return lambda channels, name: GaussianTraining()

    @classmethod
    def load(cls, saved: Arrays, name: str, channels: int, rank: int) -> "Gaussian":
        return cls()


class GaussianTraining:
    components = 1

    def __init__(self) -> None:
        self.variables: list[Any] = []

    def nll(self, prediction: Prediction) -> Any:
        import tensorflow as tf

        sigma2 = prediction.variance
        return 0.5 * tf.reduce_mean(prediction.residual**2 / sigma2 + tf.math.log(sigma2))

    def fitted(self) -> Gaussian:
        return Gaussian()
