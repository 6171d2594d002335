"""What the integer form of a likelihood is (SPEC 1.3): residuals -> energy.

A dataclass whose fields are those of its C struct; heads/ has one for each likelihood.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import INT32_MAX
from snapcli.fixedpoint.residual import HeadS8, Residual


@dataclass(frozen=True)
class Energy(ABC):
    """function: in C, of firmware/snapuq. It takes the parameters, if there are any, u and the
    number of channels, and what it asks for here: the table of logarithms, 1/sigma, the latent.
    """

    function: ClassVar[str]
    takes_logarithms: ClassVar[bool] = False
    takes_inverse_sigma: ClassVar[bool] = False
    takes_latent: ClassVar[bool] = False

    @property
    def work_floats(self) -> int:
        """Floats of memory that C works in."""
        return 0

    @abstractmethod
    def q16(self, residual: Residual) -> NDArray[np.uint32]:
        """[N], Q16, at most 2^31 - 1."""

    def check(self, name: str, head: HeadS8) -> None:
        """Whether parameters from a file are in range and fit the head that they stand behind;
        raises ValueError."""
        check_components(name, head, 1)


def check_components(name: str, head: HeadS8, components: int) -> None:
    if head.components != components:
        raise ValueError(f"{name} has {head.components} components, its energy {components}")


def mean_q16(total_q16: NDArray[np.int64], channels: int) -> NDArray[np.uint32]:
    """total / channels, rounded down, saturated as every energy is; total >= 0."""
    return np.minimum(total_q16 // channels, INT32_MAX).astype(np.uint32)
