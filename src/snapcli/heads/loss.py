"""-ln p of a Gaussian head and its gradient, in numpy."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from snapcli.array import Array
from snapcli.fixedpoint.sigma import EPS
from snapcli.heads.likelihood import VARIANCE_RANGE, variance

# Rows at a time: few enough that what is computed of them stays in the processor's cache, which
# makes it four times as fast.
_ROWS = 128


class Weights(NamedTuple):
    """Of C channels before, d after and rank r: projector [r, C]; mean, xi: [d, r]; mean_bias,
    xi_bias: [d]."""

    projector: Array
    mean: Array
    mean_bias: Array
    xi: Array
    xi_bias: Array

    def flat(self) -> Array:
        return np.concatenate([part.ravel() for part in self])

    def shaped(self, flat: Array) -> "Weights":
        """Views of flat in the shapes of these."""
        ends = np.cumsum([part.size for part in self])[:-1]
        parts = np.split(flat, ends)
        return Weights(*(p.reshape(own.shape) for p, own in zip(parts, self, strict=True)))


def energies(weights: Weights, x: Array, y: Array) -> tuple[Array, Array]:
    """(squared residual / variance, variance), both [n, d], of standardized x [n, C], y [n, d]."""
    z = x @ weights.projector.T
    sigma2 = variance(z @ weights.xi.T + weights.xi_bias)
    return (y - z @ weights.mean.T - weights.mean_bias) ** 2 / sigma2, sigma2


def nll(weights: Weights, x: Array, y: Array) -> float:
    """The trained heads' loss: -ln p / d without constants, mean over the examples."""
    energy, sigma2 = energies(weights, x, y)
    return 0.5 * float(np.mean(energy + np.log(sigma2)))


@dataclass(frozen=True, eq=False)
class Loss:
    """nll() with a ridge that pulls weights towards centre as this many examples would."""

    x: Array
    y: Array
    ridge: float
    centre: Weights

    def __call__(self, flat: Array) -> tuple[float, Array]:
        """(loss, its gradient) at Weights.flat()."""
        projector, mean, mean_bias, xi_weights, xi_bias = self.centre.shaped(flat)
        away = flat - self.centre.flat()
        total, slope = self.ridge * float(away @ away), self.ridge * away
        slopes = self.centre.shaped(slope)
        for start in range(0, len(self.x), _ROWS):
            x, y = self.x[start : start + _ROWS], self.y[start : start + _ROWS]
            z = x @ projector.T
            xi = z @ xi_weights.T + xi_bias
            decay = np.exp(-np.abs(xi))
            raw = np.log(1 + decay) + np.maximum(xi, 0) + EPS**2
            sigma2 = np.clip(raw, *VARIANCE_RANGE)
            residual = y - z @ mean.T - mean_bias
            scaled = residual / sigma2
            energy = scaled * residual
            total += float(np.sum(energy) + np.sum(np.log(sigma2)))
            by_mean = -scaled
            # d softplus / d xi is the sigmoid; beyond the clip nothing changes.
            by_xi = np.where(xi >= 0, 1, decay) / (1 + decay) * (raw == sigma2)
            by_xi *= 0.5 * (1 - energy) / sigma2
            slopes.projector[:] += (by_mean @ mean + by_xi @ xi_weights).T @ x
            slopes.mean[:] += by_mean.T @ z
            slopes.mean_bias[:] += by_mean.sum(axis=0)
            slopes.xi[:] += by_xi.T @ z
            slopes.xi_bias[:] += by_xi.sum(axis=0)
        return total / (2 * self.y.size), slope / self.y.size
