"""Small data of users, and models that could take them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from snapcli.config import AttachOptions
from snapcli.data import Dataset
from snapcli.data.user.finished import load_given
from snapcli.data.wanted import Wanted
from snapcli.errors import SnapError

SIDE = 10
RATE = 16_000
FRUIT = ("apple", "pear", "plum")
# An int8 input for pixels from 0 to 255, and one for real numbers from -1 to 1.
PIXELS = Wanted((SIDE, SIDE, 3), 3, 1.0, -128)
SIGNED = Wanted((6, 4), 3, 2 / 255, 0)
KEYWORDS = Wanted((49, 10, 1), 2, 0.6, 83)


def load(data: Path | str, wanted: Wanted, **options: Any) -> Dataset:
    return load_given(AttachOptions(data=str(data), **options), wanted)


def refused(
    kind: type[SnapError], message: str, data: Path | str, wanted: Wanted, **options: Any
) -> str:
    """What is wrong stands in one line, what to do in another, which is returned."""
    with pytest.raises(kind, match=message) as caught:
        load(data, wanted, **options)
    assert type(caught.value) is kind
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.hint
    return caught.value.hint


def everything(dataset: Dataset) -> dict[str, tuple[int, np.ndarray]]:
    """{origin: (label, raw example)} of all splits; no example may be in two of them."""
    splits = (dataset.train, dataset.dev, dataset.test)
    found = {
        str(origin): (int(label), x)
        for split in splits
        for origin, label, x in zip(split.origins, split.y, split.x, strict=True)
    }
    assert len(found) == sum(map(len, splits))
    return found


def order(dataset: Dataset) -> list[tuple[str, int]]:
    """What makes two loads the same."""
    splits = (dataset.train, dataset.dev, dataset.test)
    return [(str(o), int(y)) for s in splits for o, y in zip(s.origins, s.y, strict=True)]


def picture(path: Path, seed: int, shape: tuple[int, ...] = (SIDE, SIDE, 3)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    Image.fromarray(array).save(path)
    return path


def fruit(root: Path, classes: tuple[str, ...] = FRUIT, count: int = 20) -> Path:
    """A folder per class of images, no two alike."""
    for c, name in enumerate(classes):
        for i in range(count):
            picture(root / name / f"{i:02d}.png", 1_000 * c + i + 100_000 * len(root.parts))
    return root


def wave(hz: float, seconds: float = 1.0, rate: int = RATE) -> np.ndarray:
    """int16 at half of full scale."""
    t = np.arange(round(seconds * rate)) / rate
    return np.rint(16_384 * np.sin(2 * np.pi * hz * t)).astype(np.int16)


def tone(path: Path, hz: float, seconds: float = 1.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    wavfile.write(path, RATE, wave(hz, seconds))
    return path


def inputs(count: int = 60, shape: tuple[int, ...] = SIGNED.shape, seed: int = 0) -> np.ndarray:
    """Real inputs from -1 to 1, of which no two are alike."""
    x = np.random.default_rng(seed).uniform(-1, 1, (count, *shape))
    return x.astype(np.float32)


def labels(count: int = 60, classes: int = 3) -> np.ndarray:
    return np.arange(count) % classes


def npz(folder: Path, **arrays: Any) -> Path:
    path = folder / "mine.npz"
    np.savez(path, **arrays)
    return path


def position(origin: str) -> int:
    """Which row of its array an example was."""
    return int(origin.rpartition("/")[2])
