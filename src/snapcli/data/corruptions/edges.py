"""Canny's edge detector: what is left of a drawing when only its outlines are kept."""

import numpy as np
from scipy import ndimage

from snapcli.data.corruptions import filters
from snapcli.data.corruptions.resample import bilinear
from snapcli.data.corruptions.types import Images

# Of the gradient by Sobel's operator, which answers 4 to a step from black to white.
_WEAK, _STRONG = 0.1, 0.2
# Edges grow along rows and columns and diagonals, never from image to image.
_NEIGHBOURS = np.zeros((3, 3, 3), bool)
_NEIGHBOURS[1] = True


def _sobel(grey: np.ndarray, axis: int) -> np.ndarray:
    """grey: [n, h, w]; the gradient along axis 1 or 2."""
    slope = ndimage.correlate1d(grey, [-1.0, 0.0, 1.0], axis)
    return ndimage.correlate1d(slope, [1.0, 2.0, 1.0], 3 - axis)


def outlines(grey: np.ndarray, sigma: float) -> np.ndarray:
    """grey: [n, h, w] in [0, 1]; bool of the same shape, true on edges one pixel wide."""
    smooth = filters.gaussian(grey, sigma)
    down, right = _sobel(smooth, 1), _sobel(smooth, 2)
    slope = np.hypot(down, right)
    # An edge is a ridge of the slope: higher than one pixel on, no lower than one pixel back. Of
    # two equal pixels one is taken, of an even slope none.
    scale = np.maximum(slope, 1e-6)
    rows, columns = (np.arange(side, dtype=np.float32) for side in grey.shape[1:])
    ahead, behind = (
        bilinear(
            slope[..., None], rows[:, None] + sign * down / scale, columns + sign * right / scale
        )[..., 0]
        for sign in (1, -1)
    )
    ridge = (slope >= _WEAK) & (slope > ahead) & (slope >= behind)
    # Weak pieces count where they hang together with a strong one.
    pieces, count = ndimage.label(ridge, _NEIGHBOURS)
    strong = np.zeros(count + 1, bool)
    strong[pieces[ridge & (slope >= _STRONG)]] = True
    return strong[pieces]


def canny(x: Images, rng: np.random.Generator, sigma: float, kept: float) -> np.ndarray:
    """White outlines on black, with a share of the original kept; sigma in pixels."""
    edges = outlines(x.mean(axis=-1), sigma)[..., None].astype(np.float32)
    return kept * x + (1 - kept) * edges
