"""What a head says about an activation, and what a likelihood makes of that."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.sigma import EPS, VARIANCE_MAX, VARIANCE_MIN

VARIANCE_RANGE = (VARIANCE_MIN, VARIANCE_MAX)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """Of n activations with d channels, in standard deviations; numpy arrays or tensors.

    residual: activation minus predicted mean, [n, d]; variance: sigma^2, [n, d]; both have a
    component axis, [n, K, d], for a mixture. latent: what the head saw, [n, r].
    """

    residual: Any
    variance: Any
    latent: Any


class Likelihood(Protocol):
    """Parameters of p(residual | variance) beside mean and variance themselves."""

    kind: ClassVar[str]

    @property
    def components(self) -> int:
        """Means and variances per channel: 1, or K of a mixture."""
        ...

    def energy(self, prediction: Prediction) -> Array:
        """[n], not negative: -2 ln p / d without the terms that a residual of zero has."""
        ...

    def expected(self) -> float:
        """The energy's mean where the head fits; nan where no formula gives it."""
        ...


class Training(Protocol):
    """A likelihood while it is trained: TensorFlow variables and a loss."""

    @property
    def variables(self) -> list[Any]: ...

    def nll(self, prediction: Prediction) -> Any:
        """-ln p / d, without constants, mean over the batch: a scalar tensor."""
        ...

    def fitted(self) -> Likelihood: ...


def variance(xi: Array) -> Array:
    """sigma^2 = softplus(xi) + eps^2, clamped to the range of the device's table."""
    return np.clip(np.logaddexp(0.0, xi) + EPS**2, *VARIANCE_RANGE)
