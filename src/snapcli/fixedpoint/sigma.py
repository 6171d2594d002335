"""The deviations that int8 xi stands for (SPEC 1.3): the table of 1 / sigma."""

import numpy as np
from numpy.typing import NDArray

EPS = 1e-4
VARIANCE_MIN, VARIANCE_MAX = 1e-4, 100.0


def inverse_sigma_q9_table(xi_scale: float, xi_zero_point: int) -> NDArray[np.uint16]:
    """1 / sigma for each step of xi, Q9, uint16 [256]; sigma^2 = softplus(xi) + eps^2, clamped."""
    xi = (np.arange(256) - 128 - xi_zero_point) * float(xi_scale)
    variance = np.clip(np.logaddexp(0.0, xi) + EPS**2, VARIANCE_MIN, VARIANCE_MAX)
    return np.minimum(np.floor(512 / np.sqrt(variance) + 0.5), 65535).astype(np.uint16)
