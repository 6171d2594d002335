"""Diagonal plus low rank: channels that err together, Sigma = diag(sigma^2) + B B^T.

Woodbury: with C = B / sigma and M = I + C^T C, v^T Sigma^-1 v = |u|^2 - |L^-1 C^T u|^2, where
M = L L^T is k x k. The second term is never negative: what is usual together counts less.

The integer form is in single precision, in a fixed order of operations: bit for bit what C
computes without fused multiply-adds, and close to what it computes with them.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import TrainOptions
from snapcli.fixedpoint import Energy, HeadS8, Residual, check_between
from snapcli.fixedpoint.requantize import INT32_MAX
from snapcli.heads.likelihood import Linear, MakeTraining, Prediction
from snapcli.stored import Arrays, check_sizes, check_values

_FACTORS_MAX = 16
Float = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class EnergyLowrank(Energy):
    """Fields of struct snapuq_energy_lowrank: factors k in [1, 16], factor B [channels, k]."""

    function: ClassVar[str] = "snapuq_energy_lowrank_f32"
    takes_inverse_sigma: ClassVar[bool] = True
    factors: int
    factor: Float

    @property
    def work_floats(self) -> int:
        """SNAPUQ_LOWRANK_SCRATCH"""
        return self.factors * (self.factors + 2)

    def q16(self, residual: Residual) -> NDArray[np.uint32]:
        u = residual.u_q12.astype(np.float32) * np.float32(2.0**-12)
        inverse_sigma = residual.inverse_sigma_q9.astype(np.float32) * np.float32(2.0**-9)
        count, channels = u.shape
        total = np.zeros(count, np.float32)
        seen = np.zeros((count, self.factors), np.float32)
        inner = np.tile(np.eye(self.factors, dtype=np.float32), (count, 1, 1))
        for i in range(channels):
            scaled = self.factor[i] * inverse_sigma[:, i, np.newaxis]
            total = total + u[:, i] * u[:, i]
            seen = seen + scaled * u[:, i, np.newaxis]
            inner = inner + scaled[:, :, np.newaxis] * scaled[:, np.newaxis, :]
        unexplained = np.maximum(total - _explained(inner, seen), np.float32(0))
        e = unexplained / np.float32(channels)
        # From 2^15 on an energy saturates; what is below fits int32.
        steps = np.minimum(e, np.float32(2**15)) * np.float32(2**16)
        return np.minimum(steps.astype(np.int64), INT32_MAX).astype(np.uint32)

    def check(self, name: str, head: HeadS8) -> None:
        super().check(name, head)
        check_between(f"{name}.factors", self.factors, 1, _FACTORS_MAX)
        check_sizes(f"{name}.factor", self.factor, (head.channels, self.factors))
        check_values(f"{name}.factor", self.factor)


def _explained(inner: Float, seen: Float) -> Float:
    """seen^T inner^-1 seen by inner = L D L^T with a unit diagonal in L, which takes no roots.

    inner [N, k, k], of which the lower half is read, is at least the identity, and so is D:
    what rounding takes away from that is given back.
    """
    k = seen.shape[-1]
    lower, y = inner.copy(), seen.copy()
    explained: Float = np.zeros(len(seen), np.float32)
    for j in range(k):
        pivot: Float = np.maximum(lower[:, j, j], np.float32(1))
        explained = explained + y[:, j] * (y[:, j] / pivot)
        for row in range(j + 1, k):
            ratio = lower[:, row, j] / pivot
            y[:, row] = y[:, row] - ratio * y[:, j]
            for column in range(j + 1, row + 1):
                lower[:, row, column] = lower[:, row, column] - ratio * lower[:, column, j]
    return explained


@dataclass(frozen=True, eq=False)
class LowRank:
    """factor: B [d, k], in standard deviations of the activation."""

    kind: ClassVar[str] = "lowrank"
    integer: ClassVar[type[Energy]] = EnergyLowrank
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

    def quantized(self, linear: Linear) -> EnergyLowrank:
        return EnergyLowrank(self.factor.shape[1], self.factor.astype(np.float32))

    @classmethod
    def training(cls, options: TrainOptions) -> MakeTraining:
        return lambda channels, name: LowRankTraining(channels, options.factors, name)

    @classmethod
    def load(cls, saved: Arrays, name: str, channels: int, rank: int) -> "LowRank":
        factor = saved.array(f"{name}.factor", np.float64, (channels, None))
        check_values(f"{name}: factors", np.array(factor.shape[1]), 1, _FACTORS_MAX)
        return cls(factor)


class LowRankTraining:
    components = 1

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
