"""Image files as arrays of one size."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from snapcli.errors import ArtifactError

SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff"}
)
_GREY = frozenset({"1", "L", "LA", "I", "I;16", "F"})


def _opened(path: Path) -> Image.Image:
    try:
        image = Image.open(path)
        image.load()
    except (OSError, UnidentifiedImageError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise ArtifactError(
            f"cannot read {path}: it is damaged or no image", "Replace or remove it."
        ) from None
    return image


def shape_of(path: Path) -> tuple[int, int, int]:
    """(height, width, 1 for grey or 3 for colour) by the file's header."""
    try:
        with Image.open(path) as image:
            return image.height, image.width, 1 if image.mode in _GREY else 3
    except (OSError, UnidentifiedImageError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise ArtifactError(
            f"cannot read {path}: it is damaged or no image", "Replace or remove it."
        ) from None


def read_picture(path: Path, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """[height, width, channels] uint8; another size is resampled (bicubic), colours are mixed to
    grey or grey is repeated, transparency is dropped."""
    height, width, channels = shape
    image = _opened(path)
    if image.mode.startswith("I"):
        # Sixteen bits: the upper eight.
        wide = np.asarray(image, np.float64)
        image = Image.fromarray((np.clip(wide, 0, 65535) / 257).astype(np.uint8))
    image = image.convert("L" if channels == 1 else "RGB")
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image, np.uint8).reshape(shape)
