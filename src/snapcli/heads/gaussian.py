"""Diagonal Gaussian: every channel by itself, e = mean(u^2) with u = residual / sigma."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from snapcli.heads.prediction import Array, Prediction


@dataclass(frozen=True)
class Gaussian:
    kind: ClassVar[str] = "gaussian"
    components: ClassVar[int] = 1

    def energy(self, prediction: Prediction) -> Array:
        return np.mean(prediction.residual**2 / prediction.variance, axis=-1)

    def expected(self) -> float:
        return 1.0


class GaussianTraining:
    def __init__(self) -> None:
        self.variables: list[Any] = []

    def nll(self, prediction: Prediction) -> Any:
        import tensorflow as tf

        sigma2 = prediction.variance
        return 0.5 * tf.reduce_mean(prediction.residual**2 / sigma2 + tf.math.log(sigma2))

    def fitted(self) -> Gaussian:
        return Gaussian()
