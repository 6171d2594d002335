"""Realistic inputs from what scikit-learn ships: parts of photographs and handwritten digits."""

from functools import cache

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images

from snapcli.data.corruptions import Images


@cache
def photos(count: int, side: int, channels: int) -> Images:
    """[count, side, side, channels], read-only."""
    rng = np.random.default_rng(0)
    pictures = load_sample_images().images
    parts = []
    for k in range(count):
        picture = pictures[k % len(pictures)]
        span = int(rng.integers(100, 320))
        top, left = (int(rng.integers(0, length - span)) for length in picture.shape[:2])
        part = Image.fromarray(picture[top : top + span, left : left + span])
        parts.append(np.asarray(part.resize((side, side), Image.Resampling.BOX)))
    x = np.stack(parts).astype(np.float32) / 255
    x = x if channels == 3 else x.mean(axis=-1, keepdims=True)
    x.flags.writeable = False
    return x


@cache
def digits(count: int, side: int = 28, channels: int = 1) -> Images:
    """[count, side, side, channels], read-only: white on black, with MNIST's margins."""
    inner = round(side * 20 / 28)
    small = load_digits().images[:count].astype(np.float32) / 16
    large = [Image.fromarray(i).resize((inner, inner), Image.Resampling.BILINEAR) for i in small]
    before = (side - inner) // 2
    margin = (before, side - inner - before)
    x = np.pad(np.stack(large), ((0, 0), margin, margin))[..., None].repeat(channels, axis=-1)
    x.flags.writeable = False
    return x
