"""What every corruption takes and returns."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# [n, height, width, channels] in [0, 1].
Images = NDArray[np.float32]
# (images, severity 1-5, generator) -> new images of the same shape and range.
Corruption = Callable[[Images, int, np.random.Generator], Images]
