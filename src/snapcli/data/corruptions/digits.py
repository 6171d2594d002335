"""The digits' own corruptions: for small grey images with a dark background.

Each function takes images [n, height, width, channels] in [0, 1], a severity and a
generator, and returns new images of the same shape and range. The tables are fixed:
they were chosen by looking at the images, before any head was trained.
"""

import numpy as np
from scipy import ndimage

from snapcli.data.corruptions.types import Images


def _clip(x: np.ndarray) -> Images:
    return np.clip(x, 0.0, 1.0).astype(np.float32)


def gaussian_noise(x: Images, severity: int, rng: np.random.Generator) -> Images:
    deviation = (0.08, 0.14, 0.20, 0.28, 0.38)[severity - 1]
    return _clip(x + rng.normal(0.0, deviation, x.shape))


def impulse_noise(x: Images, severity: int, rng: np.random.Generator) -> Images:
    share = (0.02, 0.05, 0.09, 0.14, 0.20)[severity - 1]
    hit = rng.random(x.shape) < share
    return np.where(hit, rng.random(x.shape) < 0.5, x).astype(np.float32)


def blur(x: Images, severity: int, rng: np.random.Generator) -> Images:
    deviation = (0.6, 0.9, 1.2, 1.6, 2.0)[severity - 1]
    return _clip(ndimage.gaussian_filter(x, (0, deviation, deviation, 0)))


def contrast(x: Images, severity: int, rng: np.random.Generator) -> Images:
    factor = (0.65, 0.5, 0.38, 0.27, 0.18)[severity - 1]
    mean = x.mean(axis=(1, 2, 3), keepdims=True)
    return _clip((x - mean) * factor + mean)


def brightness(x: Images, severity: int, rng: np.random.Generator) -> Images:
    return _clip(x + (0.1, 0.2, 0.3, 0.4, 0.5)[severity - 1])


def rotation(x: Images, severity: int, rng: np.random.Generator) -> Images:
    degrees = (10.0, 20.0, 30.0, 40.0, 50.0)[severity - 1]
    signs = rng.choice((-1.0, 1.0), len(x))
    turned = [
        ndimage.rotate(image, sign * degrees, axes=(0, 1), reshape=False, order=1)
        for image, sign in zip(x, signs, strict=True)
    ]
    return _clip(np.stack(turned))


def translation(x: Images, severity: int, rng: np.random.Generator) -> Images:
    distance = (1.0, 2.0, 3.0, 4.0, 5.0)[severity - 1]
    angles = rng.uniform(0.0, 2.0 * np.pi, len(x))
    moved = [
        ndimage.shift(image, (distance * np.sin(a), distance * np.cos(a), 0.0), order=1)
        for image, a in zip(x, angles, strict=True)
    ]
    return _clip(np.stack(moved))


def occlusion(x: Images, severity: int, rng: np.random.Generator) -> Images:
    """A square of uniform grey somewhere on the image."""
    height, width = x.shape[1:3]
    side = max(1, round((0.2, 0.28, 0.36, 0.44, 0.52)[severity - 1] * min(height, width)))
    top = rng.integers(0, height - side + 1, len(x))[:, None, None, None]
    left = rng.integers(0, width - side + 1, len(x))[:, None, None, None]
    grey = rng.random(len(x))[:, None, None, None]
    rows = np.arange(height)[None, :, None, None]
    columns = np.arange(width)[None, None, :, None]
    inside = (rows >= top) & (rows < top + side) & (columns >= left) & (columns < left + side)
    return np.where(inside, grey, x).astype(np.float32)
