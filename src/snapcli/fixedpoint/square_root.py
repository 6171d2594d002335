"""Integer square root, inlined in the firmware by snapuq_arith.h."""

import numpy as np
from numpy.typing import NDArray


def square_root(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """floor(sqrt(value)), exact, of value in [0, 2^62)."""
    root = np.sqrt(value.astype(np.float64)).astype(np.int64)
    root -= root * root > value
    return root + ((root + 1) * (root + 1) <= value)
