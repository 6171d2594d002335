"""Lost focus, a moving camera, a pane of structured glass. Lengths are in pixels."""

from functools import lru_cache

import numpy as np
from scipy import sparse

from snapcli.data.corruptions import filters
from snapcli.data.corruptions.resample import zoom_matrix
from snapcli.data.corruptions.types import Images

_ZOOM_STEP = 0.01


def defocus(x: Images, rng: np.random.Generator, radius: float, softness: float) -> np.ndarray:
    return filters.convolve(x, filters.disk_kernel(radius, softness))


def motion(x: Images, rng: np.random.Generator, radius: float, sigma: float) -> np.ndarray:
    """Each image in its own direction, at most 45 degrees from the horizontal."""
    angles = rng.uniform(-np.pi / 4, np.pi / 4, len(x))
    return filters.convolve(x, filters.streak_kernels(angles, radius, sigma))


@lru_cache(maxsize=16)
def _zooms(height: int, width: int, largest: float) -> sparse.csr_array:
    """[h * w, h * w]: the mean of an image and of its enlargements by 1.00, 1.01 ... largest."""
    factors = np.linspace(1.0, largest, round((largest - 1.0) / _ZOOM_STEP) + 1)
    total = sparse.eye_array(height * width, format="csr")
    for factor in factors:
        rows, columns = (sparse.csr_array(zoom_matrix(s, factor)) for s in (height, width))
        total = total + sparse.kron(rows, columns, format="csr")
    return (total / (len(factors) + 1)).astype(np.float32)


def zoom(x: Images, rng: np.random.Generator, largest: float) -> np.ndarray:
    """The camera moves towards the centre: a mean over factors from 1 to the largest."""
    n, h, w, c = x.shape
    pixels = np.ascontiguousarray(x.reshape(n, h * w, c).swapaxes(0, 1)).reshape(h * w, n * c)
    blurred = _zooms(h, w, largest) @ pixels
    return blurred.reshape(h * w, n, c).swapaxes(0, 1).reshape(x.shape)


def _shuffle(
    n: int, height: int, width: int, reach: int, swapped: bool, rng: np.random.Generator
) -> np.ndarray:
    """[h * w, n] intp: for each image, which pixel comes to lie where.

    From the bottom right to the top left, every pixel takes the value of one that is up to
    `reach` above and to the left of it, or up to reach - 1 below and to the right. Where they
    are swapped, later swaps carry a pixel on, so some travel far.
    """
    order = np.arange(height * width)[:, None].repeat(n, axis=1)
    rows, columns = (range(side - reach, reach - 1, -1) for side in (height, width))
    moves = rng.integers(-reach, reach, (len(rows), len(columns), 2, n))
    partners = moves[:, :, 0] * width + moves[:, :, 1]
    images = np.arange(n)
    for row, in_row in zip(rows, partners, strict=True):
        for column, move in zip(columns, in_row, strict=True):
            here = row * width + column
            there = here + move
            kept = order[here].copy()
            order[here] = order[there, images]
            if swapped:
                order[there, images] = kept
    return order


def glass(x: Images, rng: np.random.Generator, sigma: float, reach: int, rounds: int) -> np.ndarray:
    """Pixels change places with near ones, `rounds` times, between two gaussian blurs.

    In the published images of one channel they do. In those of three a pixel is only overwritten
    by its neighbour, because the original program exchanged two views of one array.
    """
    n, h, w, c = x.shape
    pixels = filters.gaussian(x, sigma).reshape(n, h * w, c)
    for _ in range(rounds):
        order = _shuffle(n, h, w, reach, c == 1, rng)
        pixels = np.take_along_axis(pixels, order.T[..., None], axis=1)
    return filters.gaussian(pixels.reshape(x.shape), sigma)
