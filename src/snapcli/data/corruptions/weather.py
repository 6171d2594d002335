"""Fog, snow, frost and mud, all made from noise: no photograph of any is needed."""

import numpy as np

from snapcli.data.corruptions import filters
from snapcli.data.corruptions.crystals import frost_sheet
from snapcli.data.corruptions.resample import along_axes, zoom_matrix
from snapcli.data.corruptions.types import Images

_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
_MUD = 63 / 255
# Ice is a little blue.
_ICE = np.array([0.88, 0.95, 1.0], np.float32)


def _windows(
    shape: tuple[int, ...], side: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows [n, h, 1] and columns [n, 1, w]: a random part, of the size of an image and for each
    of them, of a square that has no seam at its borders. shape: the images' [n, h, w, c]."""
    n, h, w, _ = shape
    top, left = rng.integers(0, side, (2, n, 1, 1))
    return (top + np.arange(h)[:, None]) % side, (left + np.arange(w)) % side


def _doubled(grid: np.ndarray, axis: int) -> np.ndarray:
    """Twice as many points along an axis that runs in a circle, on a cubic spline."""
    before, after = np.roll(grid, 1, axis), np.roll(grid, -1, axis)
    pairs = np.stack(((before + 6 * grid + after) / 8, (grid + after) / 2), axis + 1)
    return pairs.reshape(*grid.shape[:axis], -1, *grid.shape[axis + 1 :])


def plasma(shape: tuple[int, ...], decay: float, rng: np.random.Generator) -> np.ndarray:
    """[n, h, w, 1] in [0, 1] for images of shape [n, h, w, c]: clouds, each octave weaker than
    the last by decay squared."""
    n, h, w, _ = shape
    sky = np.zeros((n, 1, 1), np.float32)
    amplitude = 1.0
    while sky.shape[1] < max(h, w):
        sky = _doubled(_doubled(sky, 1), 2)
        sky += amplitude * (2 * rng.random(sky.shape, dtype=np.float32) - 1)
        amplitude /= decay**2
    # The coarsest points lie on a lattice: in a fixed window, all clouds would lie in line.
    rows, columns = _windows(shape, sky.shape[1], rng)
    clouds = sky[np.arange(n)[:, None, None], rows, columns, None]
    clouds -= clouds.min(axis=(1, 2), keepdims=True)
    return clouds / clouds.max(axis=(1, 2), keepdims=True)


def fog(x: Images, rng: np.random.Generator, strength: float, decay: float) -> np.ndarray:
    """Clouds are added; the sum is dimmed to the brightest value that the image had."""
    brightest = x.max(axis=(1, 2, 3), keepdims=True)
    return (x + strength * plasma(x.shape, decay, rng)) * brightest / (brightest + strength)


def snow(
    x: Images,
    rng: np.random.Generator,
    mean: float,
    deviation: float,
    size: float,
    threshold: float,
    radius: float,
    sigma: float,
    clear: float,
) -> np.ndarray:
    """Falling flakes over a scene that is whitened but for a share `clear`.

    Flakes are what exceeds the threshold of normal noise, enlarged by size and drawn out by
    motion (radius and sigma in pixels) within 45 degrees of the vertical; they fall twice, the
    second time upside down.
    """
    n, h, w, c = x.shape
    noise = mean + deviation * rng.standard_normal((n, h, w, 1), dtype=np.float32)
    flakes = along_axes(noise, zoom_matrix(h, size), zoom_matrix(w, size))
    flakes = np.where(flakes < threshold, 0.0, np.minimum(flakes, 1.0))
    angles = rng.uniform(np.pi / 4, 3 * np.pi / 4, len(x))
    falling = filters.convolve(flakes, filters.streak_kernels(angles, radius, sigma))
    grey = (x @ _LUMA)[..., None] if c == 3 else x
    whitened = np.maximum(x, 1.5 * grey + 0.5)
    return clear * x + (1 - clear) * whitened + falling + falling[:, ::-1, ::-1]


def frost(
    x: Images, rng: np.random.Generator, clear: float, weight: float, density: float
) -> np.ndarray:
    """clear * x + weight * ice: each image looks through its own part of one frozen pane."""
    pane = frost_sheet(4 * max(x.shape[1:3]), density, rng)
    ice = pane[*_windows(x.shape, len(pane), rng), None]
    return clear * x + weight * ice * (_ICE if x.shape[-1] == 3 else 1)


def spatter(x: Images, rng: np.random.Generator, threshold: float) -> np.ndarray:
    """Mud lies where smooth noise of mean 0.65 exceeds the threshold; its thin rims wash off."""
    noise = 0.65 + 0.3 * rng.standard_normal(x.shape[:3], dtype=np.float32)
    wet = filters.gaussian(noise, 1.0) > threshold
    cover = filters.gaussian(wet.astype(np.float32), 1.5)[..., None]
    cover[cover < 0.8] = 0.0
    return x * (1 - cover) + _MUD * cover
