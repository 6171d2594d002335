"""Variation of training images, as in the paper's appendix A: each function takes images
[n, h, w, c], uint8 or float32 in [0, 1], and a generator, and returns images of the same kind."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from snapcli.data.corruptions.resample import bilinear
from snapcli.data.dataset import Raw, as_real, as_stored
from snapcli.data.request import Request

Augment = Callable[[Raw, np.random.Generator], Raw]


def affine(x: Raw, rng: np.random.Generator) -> Raw:
    """Up to ten degrees of turn and two pixels of shift; what comes in from outside is 0."""
    angle = np.deg2rad(rng.uniform(-10.0, 10.0, len(x)))
    shift = rng.uniform(-2.0, 2.0, (2, len(x)))
    rows, columns = _grid(x)
    sin, cos = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    middle = ((x.shape[1] - 1) / 2, (x.shape[2] - 1) / 2)
    down, right = rows - middle[0], columns - middle[1]
    # One pixel of border stands for all that is outside.
    framed = np.pad(as_real(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    turned = bilinear(
        framed,
        1 + middle[0] + cos * down - sin * right + shift[0][:, None, None],
        1 + middle[1] + sin * down + cos * right + shift[1][:, None, None],
    )
    return as_stored(turned, x.dtype)


def crop(x: Raw, rng: np.random.Generator) -> Raw:
    """The image at a random place of itself with four pixels of reflection around it."""
    reach = 4
    height, width = x.shape[1:3]
    padded = np.pad(x, ((0, 0), (reach, reach), (reach, reach), (0, 0)), mode="reflect")
    top, left = rng.integers(0, 2 * reach + 1, (2, len(x)))
    rows = top[:, None] + np.arange(height)
    columns = left[:, None] + np.arange(width)
    return padded[np.arange(len(x))[:, None, None], rows[:, :, None], columns[:, None, :]]


def flip(x: Raw, rng: np.random.Generator) -> Raw:
    """Left and right exchanged in half of the images."""
    mirrored = rng.random(len(x)) < 0.5
    return np.where(mirrored[:, None, None, None], x[:, :, ::-1], x)


def jitter(x: Raw, rng: np.random.Generator) -> Raw:
    """Brightness, contrast and saturation, each changed by up to a fifth."""
    real = as_real(x)
    bright, contrast, colour = rng.uniform(0.8, 1.2, (3, len(x), 1, 1, 1)).astype(np.float32)
    real = np.clip(real * bright, 0.0, 1.0)
    mean = _grey(real).mean(axis=(1, 2, 3), keepdims=True)
    real = np.clip(mean + contrast * (real - mean), 0.0, 1.0)
    grey = _grey(real)
    return as_stored(np.clip(grey + colour * (real - grey), 0.0, 1.0), x.dtype)


def cutout(x: Raw, rng: np.random.Generator) -> Raw:
    """A square of half the height is blackened; it may reach over the border."""
    height, width = x.shape[1:3]
    side = height // 2
    top = rng.integers(-(side // 2), height - side // 2, len(x))[:, None, None, None]
    left = rng.integers(-(side // 2), width - side // 2, len(x))[:, None, None, None]
    rows, columns = _grid(x)
    rows, columns = rows[..., None], columns[..., None]
    inside = (rows >= top) & (rows < top + side) & (columns >= left) & (columns < left + side)
    return np.where(inside, x.dtype.type(0), x)


def resized_crop(x: Raw, rng: np.random.Generator) -> Raw:
    """A square part with 80 to 100 % of the area, at full size again."""
    height, width = x.shape[1:3]
    side = np.sqrt(rng.uniform(0.8, 1.0, len(x)))
    place = rng.random((2, len(x))) * (1.0 - side)
    rows, columns = _grid(x)
    shrink = side[:, None, None]
    resized = bilinear(
        as_real(x),
        place[0][:, None, None] * height + shrink * (rows + 0.5) - 0.5,
        place[1][:, None, None] * width + shrink * (columns + 0.5) - 0.5,
    )
    return as_stored(resized, x.dtype)


def grey(x: Raw, rng: np.random.Generator) -> Raw:
    """One image in ten loses its colours."""
    chosen = rng.random(len(x)) < 0.1
    out = x.copy()
    out[chosen] = as_stored(_grey(as_real(x[chosen])), x.dtype)
    return out


AUGMENTS: dict[str, Augment] = {
    "affine": affine,
    "resized-crop": resized_crop,
    "crop": crop,
    "flip": flip,
    "jitter": jitter,
    "grey": grey,
    "cutout": cutout,
}


def image_augment(request: Request, default: tuple[str, ...]) -> Augment:
    """What was asked for, or the default, one after the other."""
    chosen = [AUGMENTS[name] for name in request.augments(default, AUGMENTS)]

    def augment(x: Raw, rng: np.random.Generator) -> Raw:
        for vary in chosen:
            x = vary(x, rng)
        return x

    return augment


def _grid(x: Raw) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Row and column of every pixel, [1, h, 1] and [1, 1, w]."""
    height, width = x.shape[1:3]
    rows = np.arange(height, dtype=np.float32)[None, :, None]
    return rows, np.arange(width, dtype=np.float32)[None, None, :]


def _grey(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Luma (ITU-R 601) in every channel's place: [n, h, w, 1]."""
    if x.shape[3] == 1:
        return x
    return np.asarray(x @ np.array([0.299, 0.587, 0.114], np.float32), np.float32)[..., None]
