"""Noise of sensors and of transmission, each value of each channel by itself."""

import numpy as np

from snapcli.data.corruptions.types import Images


def gaussian(x: Images, rng: np.random.Generator, deviation: float) -> np.ndarray:
    return x + deviation * rng.standard_normal(x.shape, dtype=np.float32)


def shot(x: Images, rng: np.random.Generator, photons: float) -> np.ndarray:
    """photons: what a white pixel catches on average."""
    return rng.poisson(x * photons) / photons


def impulse(x: Images, rng: np.random.Generator, share: float) -> np.ndarray:
    """A share of the values is lost: half of them become black, half white."""
    fate = rng.random(x.shape, dtype=np.float32)
    return np.where(fate < share, fate < share / 2, x)
