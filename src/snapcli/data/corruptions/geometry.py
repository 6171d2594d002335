"""Pixels in other places: elastic cloth and the four affine maps of MNIST-C.

A map says from where each pixel of the result is read. Each image has its own sign or
its own draw.
"""

import numpy as np

from snapcli.data.corruptions import filters
from snapcli.data.corruptions.resample import bilinear
from snapcli.data.corruptions.types import Images


def _from_centre(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each pixel, [h, 1] and [1, w], zero in the middle of the image."""
    rows, columns = (np.arange(side, dtype=np.float32) - (side - 1) / 2 for side in (height, width))
    return rows[:, None], columns[None, :]


def _mirrored(at: np.ndarray, side: int) -> np.ndarray:
    """Coordinates that left the image by less than its side, folded back into it."""
    return (side - 1) - np.abs((side - 1) - np.abs(at))


def elastic(
    x: Images, rng: np.random.Generator, strength: float, smoothness: float, jitter: float
) -> np.ndarray:
    """A random affine map and random local shifts; all lengths are shares of the side.

    jitter: the largest move of each of the three corners that define the affine map.
    strength: the local shifts' scale before noise in [-1, 1] is smoothed over `smoothness`.
    """
    n, h, w, _ = x.shape
    side = min(h, w)

    def local_shift() -> np.ndarray:
        noise = 2 * rng.random((n, h, w), dtype=np.float32) - 1
        return strength * side * filters.gaussian(noise, smoothness * side)

    rows, columns = _from_centre(h, w)
    rows, columns = rows + local_shift(), columns + local_shift()
    # The corners are three of a square of 2/3 of the side: the lower left one, the next to the
    # right and the next above. Between and beyond them a shift is linear.
    corners = jitter * side * (2 * rng.random((3, n, 2), dtype=np.float32) - 1)
    right, up = 0.5 + columns / (2 * side / 3), 0.5 - rows / (2 * side / 3)
    weights = np.stack((1 - right - up, right, up))
    down, across = np.einsum("knd,knhw->dnhw", corners, weights)
    return bilinear(
        x,
        _mirrored(rows + down + (h - 1) / 2, h),
        _mirrored(columns + across + (w - 1) / 2, w),
    )


def _read_from(x: Images, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """x read at places measured from its centre, broadcast to [n, h, w]; black outside of it."""
    n, h, w, _ = x.shape
    framed = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows, columns = (np.broadcast_to(at, (n, h, w)) for at in (rows, columns))
    return bilinear(framed, rows + (h + 1) / 2, columns + (w + 1) / 2)


def _signs(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(np.array([-1.0, 1.0], np.float32), (n, 1, 1))


def shear(x: Images, rng: np.random.Generator, slope: float) -> np.ndarray:
    """slope: columns that a row moves for each row between it and the middle."""
    rows, columns = _from_centre(*x.shape[1:3])
    return _read_from(x, rows, columns + slope * _signs(len(x), rng) * rows)


def scale(x: Images, rng: np.random.Generator, factor: float) -> np.ndarray:
    rows, columns = _from_centre(*x.shape[1:3])
    return _read_from(x, rows / factor, columns / factor)


def rotate(x: Images, rng: np.random.Generator, angle: float) -> np.ndarray:
    """angle in radians, to either side."""
    rows, columns = _from_centre(*x.shape[1:3])
    angles = angle * _signs(len(x), rng)
    sin, cos = np.sin(angles), np.cos(angles)
    return _read_from(x, cos * rows - sin * columns, sin * rows + cos * columns)


def translate(x: Images, rng: np.random.Generator, share: float) -> np.ndarray:
    """Along one of the diagonals, by a share of the side in rows and in columns."""
    rows, columns = _from_centre(*x.shape[1:3])
    distance = share * min(x.shape[1:3])
    down, right = distance * _signs(len(x), rng), distance * _signs(len(x), rng)
    return _read_from(x, rows + down, columns + right)
