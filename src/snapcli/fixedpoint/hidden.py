"""A small hidden layer in front of a map (SPEC 1.7) <-> snapuq_hidden_q16.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import INT32_MAX, INT32_MIN


@dataclass(frozen=True, eq=False)
class Hidden:
    """start + sum_h out_h max(0, bias_h[answer] + sum_j weight_hj x_j); int32, Q16.

    out int32 [units], weight int32 [units, inputs], bias int32 [units, classes].
    """

    out_q16: NDArray[np.int32]
    weight_q16: NDArray[np.int32]
    bias_q16: NDArray[np.int32]


def hidden_q16(
    layer: Hidden, start_q16: int, input_q16: NDArray[np.int32], answer: NDArray[np.int32]
) -> NDArray[np.int32]:
    """input int32 [N, inputs], answer int32 [N] in [0, classes) -> int32 [N], saturated."""
    x = input_q16.astype(np.int64)[:, np.newaxis, :]
    products = (layer.weight_q16.astype(np.int64) * x + (1 << 15)) >> 16
    inner = layer.bias_q16.astype(np.int64).T[answer] + products.sum(axis=-1)
    # So that the second product stays within 64 bits.
    active = np.clip(inner, 0, INT32_MAX)
    outer = (layer.out_q16.astype(np.int64) * active + (1 << 15)) >> 16
    total = start_q16 + outer.sum(axis=-1)
    return np.clip(total, INT32_MIN, INT32_MAX).astype(np.int32)
