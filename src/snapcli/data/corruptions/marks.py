"""Pen strokes and inverted stripes over the image."""

import numpy as np

from snapcli.data.corruptions.types import Images


def _ink(distance: np.ndarray, reach: float) -> np.ndarray:
    """1 on the line, falling to 0 at 63 % of reach (pixels): a pen's soft rim."""
    near = np.minimum(distance / reach, 1 - 1e-6)
    return np.maximum(0.0, 1.0 + np.log1p(-near))


def _grid(x: Images) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each pixel: [1, h, 1] and [1, 1, w]."""
    h, w = x.shape[1:3]
    return np.arange(h)[None, :, None], np.arange(w)[None, None, :]


def dotted_line(x: Images, rng: np.random.Generator, reach: float) -> np.ndarray:
    """From a random row at the left to a random row at the right: two columns off, two on."""
    rows, columns = _grid(x)
    h, w = x.shape[1:3]
    left, right = rng.uniform(0, h - 1, (2, len(x), 1, 1))
    ink = _ink(np.abs(rows - left - (right - left) * columns / (w - 1)), reach)
    return x + (ink * (columns // 2 % 2))[..., None]


def zigzag(x: Images, rng: np.random.Generator, reach: float) -> np.ndarray:
    """A nearly level line across the image that swings by 1/14 of the height, every 2/7 of the
    width anew."""
    rows, columns = _grid(x)
    h, w = x.shape[1:3]
    swing, period, margin = h / 14, 2 * w / 7, w / 14
    start = rng.uniform(0, h - 1, (len(x), 1, 1))
    slope = rng.uniform(-0.2, 0.2, (len(x), 1, 1))
    tilt = np.hypot(1.0, slope)
    along = ((columns - margin) + slope * (rows - start)) / tilt
    across = ((rows - start) - slope * (columns - margin)) / tilt
    # A triangle wave through zero at the start.
    wave = swing * (1 - 4 * np.abs((along / period + 0.75) % 1.0 - 0.5))
    inside = (columns >= margin) & (columns <= w - 1 - margin)
    return x + (inside * _ink(np.abs(across - wave), reach))[..., None]


def stripe(x: Images, rng: np.random.Generator, share: float) -> np.ndarray:
    """Inverts a share of the columns at the left and as many at the right."""
    w = x.shape[2]
    wide = round(share * w)
    columns = np.arange(w)[:, None]
    return np.where((columns < wide) | (columns >= w - wide), 1 - x, x)
