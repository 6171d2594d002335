"""Moving pixels: linear maps along the axes, and reading between pixels."""

import numpy as np

from snapcli.data.corruptions.types import Images


def along_axes(x: Images, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Every channel of every image becomes rows @ channel @ columns.T.

    x: [n, h, w, c]; rows: [h', h]; columns: [w', w]; returns [n, h', w', c].
    """
    n, h, w, c = x.shape
    # One product for all images: the channels stay interleaved, as they are in memory.
    interleaved = np.kron(columns.T, np.eye(c)).astype(np.float32)
    tall = rows.astype(np.float32) @ x.reshape(n, h, w * c)
    return (tall.reshape(-1, w * c) @ interleaved).reshape(n, len(rows), len(columns), c)


def zoom_matrix(side: int, factor: float) -> np.ndarray:
    """[side, side]: enlarges by factor >= 1 about the centre, linear between pixels."""
    centre = (side - 1) / 2
    at = centre + (np.arange(side) - centre) / factor
    return np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(side)))


def box_matrix(side: int, small: int) -> np.ndarray:
    """[side, side]: averages the pixels in `small` boxes, then spreads each box over its place.

    A pixel belongs to the box that its middle lies in; on a border, to the box before it.
    """
    middles = (np.arange(side) + 0.5) * small / side
    member = np.ceil(middles) - 1 == np.arange(small)[:, None]
    average = member / member.sum(axis=1, keepdims=True)
    return average[middles.astype(int)]


def bilinear(x: Images, rows: np.ndarray, columns: np.ndarray) -> Images:
    """x [n, h, w, c] read at rows and columns [n, h', w'] in pixels: [n, h', w', c].

    A place outside of the image reads the border nearest to it. h and w are at least 2.
    """
    n, h, w, c = x.shape
    rows = np.clip(rows, 0, h - 1).astype(np.float32)
    columns = np.clip(columns, 0, w - 1).astype(np.float32)
    top = np.minimum(rows.astype(np.intp), h - 2)
    left = np.minimum(columns.astype(np.intp), w - 2)
    down, right = (rows - top)[..., None], (columns - left)[..., None]
    pixels = x.reshape(n * h * w, c)
    corner = (np.arange(n)[:, None, None] * h + top) * w + left

    def between(left_ends: np.ndarray) -> np.ndarray:
        ends = pixels.take(left_ends, axis=0), pixels.take(left_ends + 1, axis=0)
        return ends[0] * (1 - right) + ends[1] * right

    upper, lower = between(corner), between(corner + w)
    return np.asarray(upper * (1 - down) + lower * down, np.float32)
