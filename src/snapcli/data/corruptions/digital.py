"""What happens to an image when it is stored small."""

from io import BytesIO

import numpy as np
from PIL import Image

from snapcli.data.corruptions.resample import along_axes, box_matrix
from snapcli.data.corruptions.types import Images


def pixelate(x: Images, rng: np.random.Generator, share: float) -> np.ndarray:
    """Reduced to a share of its side by averaging boxes, then enlarged without smoothing."""
    rows, columns = (box_matrix(side, max(1, int(side * share))) for side in x.shape[1:3])
    return along_axes(x, rows, columns)


def jpeg(x: Images, rng: np.random.Generator, quality: int) -> np.ndarray:
    """Each image is compressed by itself, with halved colour resolution as is usual."""
    bytes_in = np.round(x * 255).astype(np.uint8)
    bytes_out = np.empty_like(bytes_in)
    flat = bytes_in.shape[-1] == 1
    for image, out in zip(bytes_in, bytes_out, strict=True):
        file = BytesIO()
        Image.fromarray(image[..., 0] if flat else image).save(file, "JPEG", quality=quality)
        out[:] = np.asarray(Image.open(file, formats=("JPEG",))).reshape(out.shape)
    return bytes_out / np.float32(255)
