"""Images as a network takes them: mean 0 and deviation 1 over the training set."""

from collections.abc import Callable

import numpy as np

from snapcli.data.dataset import Inputs, Raw, as_real

# Of the pixel values in [0, 1]; paper, appendix A.
MNIST = ((0.1307,), (0.3081,))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def normalised(mean: tuple[float, ...], deviation: tuple[float, ...]) -> Callable[[Raw], Inputs]:
    """A front end with one mean and deviation per channel."""
    shift, scale = np.array(mean, np.float32), np.array(deviation, np.float32)

    def front_end(x: Raw) -> Inputs:
        return np.asarray((as_real(x) - shift) / scale, np.float32)

    return front_end
