"""What every corruption takes and returns."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# [n, height, width, channels] in [0, 1].
Images = NDArray[np.float32]
# (examples, severity 1-5, generator) -> new examples of the same shape and range. Examples are
# images, or clips [n, samples] in [-1, 1].
Corruption = Callable[[NDArray[np.float32], int, np.random.Generator], NDArray[np.float32]]
