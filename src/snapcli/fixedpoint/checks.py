"""What kernels trust of their parameters (SPEC 1.3 to 1.8), where these come from a file.

One size that is wrong is a read beyond an array on the device. All raise ValueError.
"""

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import INT32_MAX, SHIFT_MAX, SHIFT_MIN, Multiplier
from snapcli.stored import check_sizes, check_values

INPUTS_MAX, CHANNELS_MAX = 256, 2048
# Half of the accumulator's range is the bias's (SPEC 1.3).
BIAS_LIMIT = 1 << 30
_WEIGHT = 127


def check_between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, not between {low} and {high}")


def check_weights(name: str, weights: NDArray[np.int8], shape: tuple[int, int]) -> None:
    check_sizes(name, weights, shape)
    check_values(name, weights, -_WEIGHT, _WEIGHT)


def check_bias(name: str, bias: NDArray[np.int32], rows: int) -> None:
    check_sizes(name, bias, (rows,))
    check_values(name, bias, -BIAS_LIMIT, BIAS_LIMIT)


def check_multiplier(name: str, multiplier: Multiplier) -> None:
    check_between(f"{name}.mantissa", multiplier.mantissa, 0, INT32_MAX)
    check_between(f"{name}.shift", multiplier.shift, SHIFT_MIN, SHIFT_MAX)
