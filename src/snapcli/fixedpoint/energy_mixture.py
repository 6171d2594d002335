"""A mixture of diagonal Gaussians (SPEC 1.3) <-> snapuq_energy_mixture_q16.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.energy_gaussian import mean_q16
from snapcli.fixedpoint.exp import exp_q16
from snapcli.fixedpoint.ln import ln_q16
from snapcli.fixedpoint.requantize import Multiplier, requantize
from snapcli.fixedpoint.residual import Residual, exact_product


@dataclass(frozen=True, eq=False)
class EnergyMixture:
    """Fields of struct snapuq_energy_mixture: components K in [1, 8], inputs of the latent; the
    logits of the shares are weights int8 [K, inputs] times the latent plus bias int32 [K], by
    `logit` to Q16."""

    components: int
    inputs: int
    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    logit: Multiplier


def energy_mixture_q16(energy: EnergyMixture, residual: Residual) -> NDArray[np.uint32]:
    """uint32 [N], Q16, at most 2^31 - 1."""
    shape = (len(residual.u_q12), energy.components, -1)
    u_q12 = residual.u_q12.reshape(shape)
    accumulator = exact_product(residual.latent, energy.weights) + energy.bias
    # -1/2 ln sigma^2 is ln(1 / sigma); the unit of 1 / sigma is common to all components.
    height_q16 = requantize(accumulator, energy.logit.mantissa, energy.logit.shift) + np.sum(
        ln_q16(residual.inverse_sigma_q9.reshape(shape)), axis=-1
    )
    half_q_q16 = np.sum(u_q12**2, axis=-1) >> 9
    below_q16 = _log_sum_exp_q16(height_q16) - _log_sum_exp_q16(height_q16 - half_q_q16)
    return mean_q16(2 * np.maximum(below_q16, 0), u_q12.shape[-1])


def _log_sum_exp_q16(value_q16: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N, K] -> [N]."""
    top_q16 = value_q16.max(axis=-1)
    total_q16 = exp_q16(top_q16[:, np.newaxis] - value_q16).sum(axis=-1)
    return top_q16 + ln_q16(total_q16) - ln_q16(1 << 16)
