"""Image files as arrays of one size."""

import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snapcli.errors import ArtifactError

SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff"}
)
# What those suffixes stand for: Pillow knows more, of which some start programs.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "PPM", "TIFF")
_PIXELS_MAX = 32_000_000
_GREY = frozenset({"1", "L", "LA", "F"})
# Pillow checks again, also what a file says of its size later; it need not warn of what we refuse.
Image.MAX_IMAGE_PIXELS = _PIXELS_MAX
warnings.simplefilter("ignore", Image.DecompressionBombWarning)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    try:
        with Image.open(path, formats=_FORMATS) as image:
            if image.width * image.height > _PIXELS_MAX:
                raise Image.DecompressionBombError
            yield image
    except Image.DecompressionBombError:
        raise ArtifactError(
            f"cannot read {path}: it has more than {_PIXELS_MAX // 1_000_000} million pixels",
            "Make it smaller, or remove it.",
        ) from None
    except (OSError, ValueError, SyntaxError, MemoryError, EOFError, struct.error, TypeError):
        raise ArtifactError(
            f"cannot read {path}: it is damaged or no image", "Replace or remove it."
        ) from None


def _is_wide(image: Image.Image) -> bool:
    """Grey of 16 bits, which has as many names as there are orders of bytes."""
    return image.mode.startswith("I")


def shape_of(path: Path) -> tuple[int, int, int]:
    """(height, width, 1 for grey or 3 for colour) by the file's header."""
    with _opened(path) as image:
        grey = image.mode in _GREY or _is_wide(image)
        return image.height, image.width, 1 if grey else 3


def read_picture(path: Path, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """[height, width, channels] uint8; another size is resampled (bicubic), colours are mixed to
    grey or grey is repeated, transparency is dropped."""
    height, width, channels = shape
    with _opened(path) as image:
        if _is_wide(image):
            # Rounded, where the ratio of both scales never is a half.
            wide = np.clip(np.asarray(image), 0, 65535).astype(np.int32)
            image = Image.fromarray(((2 * wide + 257) // 514).astype(np.uint8))
        image = image.convert("L" if channels == 1 else "RGB")
        if image.size != (width, height):
            image = image.resize((width, height), Image.Resampling.BICUBIC)
        return np.asarray(image, np.uint8).reshape(shape)
