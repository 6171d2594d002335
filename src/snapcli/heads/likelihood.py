"""What a head predicts of an activation, and what a likelihood has to provide to judge it.

A likelihood is one file: what it computes (a Likelihood), its loss (a Training) and its integer
form (a fixedpoint Energy, which names the function of C). likelihoods.py lists them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import TrainOptions
from snapcli.fixedpoint import Energy, Multiplier
from snapcli.fixedpoint.sigma import EPS, VARIANCE_MAX, VARIANCE_MIN
from snapcli.stored import Arrays

VARIANCE_RANGE = (VARIANCE_MIN, VARIANCE_MAX)


@dataclass(frozen=True, eq=False)
class LinearS8:
    """weights @ latent + bias in integers: weights int8 [rows, inputs], bias int32 [rows]; to_q16
    brings the sum to Q16."""

    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    to_q16: Multiplier


# weights [rows, r] and bias [rows] of the latent, as the device holds them.
Linear = Callable[[Array, Array], LinearS8]


@dataclass(frozen=True)
class Prediction:
    """Of n activations with d channels, in standard deviations; numpy arrays or tensors.

    residual: activation minus predicted mean, [n, d]; variance: sigma^2, [n, d]; both have a
    component axis, [n, K, d], for a mixture. latent: what the head saw, [n, r].
    """

    residual: Any
    variance: Any
    latent: Any


class Training(Protocol):
    """A likelihood while it is trained: TensorFlow variables and a loss."""

    components: int

    @property
    def variables(self) -> list[Any]: ...

    def nll(self, prediction: Prediction) -> Any:
        """-ln p / d, without constants, mean over the batch: a scalar tensor."""
        ...

    def fitted(self) -> "Likelihood": ...


# channels after the block, name of the head -> what is trained there.
MakeTraining = Callable[[int, str], Training]


class Likelihood(Protocol):
    """Parameters of p(residual | variance) beside mean and variance themselves. kind: its name
    on the command line and in files."""

    kind: ClassVar[str]
    integer: ClassVar[type[Energy]]

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

    def quantized(self, linear: Linear) -> Energy: ...

    @classmethod
    def training(cls, options: TrainOptions) -> MakeTraining:
        """For all taps of a network: what they share is made here, once."""
        ...

    @classmethod
    def load(cls, saved: Arrays, name: str, channels: int, rank: int) -> Self:
        """From <name>.<field>, of a head with so many channels after the block; raises
        ValueError."""
        ...


def variance(xi: Array) -> Array:
    """sigma^2 = softplus(xi) + eps^2, clamped to the range of the device's table."""
    return np.clip(np.logaddexp(0.0, xi) + EPS**2, *VARIANCE_RANGE)
