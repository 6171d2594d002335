"""How much light there is."""

import numpy as np

from snapcli.data.corruptions.types import Images


def brightness(x: Images, rng: np.random.Generator, gain: float) -> np.ndarray:
    """Adds gain to the value of HSV and keeps hue and saturation, so colours do not fade."""
    value = x.max(axis=-1, keepdims=True)
    # A black pixel has no hue: it turns grey.
    colour = np.divide(x, value, out=np.ones_like(x), where=value > 0)
    return colour * np.minimum(value + gain, 1.0)


def contrast(x: Images, rng: np.random.Generator, factor: float) -> np.ndarray:
    """Towards the mean of each channel of each image."""
    mean = x.mean(axis=(1, 2), keepdims=True)
    return (x - mean) * factor + mean
