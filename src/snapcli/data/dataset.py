"""What a data set is, and how one is found by name."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.errors import UsageError, suggestion

Images = NDArray[np.float32]


@dataclass(frozen=True)
class Split:
    """x: [n, height, width, channels] in [0, 1]; y: [n] int64 class indices."""

    x: Images
    y: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Dataset:
    """Three disjoint splits and the shifts a monitor is judged on.

    corruptions maps a type to a function (images, severity 1-5, generator) -> images;
    ood maps a name to images [n, height, width, channels] without a label.
    """

    name: str
    class_names: tuple[str, ...]
    train: Split
    dev: Split
    test: Split
    corruptions: dict[str, Callable[[Images, int, np.random.Generator], Images]]
    ood: dict[str, Images]
    augment: Callable[[Images, np.random.Generator], Images]

    @property
    def input_shape(self) -> tuple[int, int, int]:
        height, width, channels = self.train.x.shape[1:]
        return height, width, channels

    def corrupted(self, x: Images, corruption: str, severity: int, seed: int) -> Images:
        """The same images for the same arguments, whatever was drawn before."""
        index = list(self.corruptions).index(corruption)
        rng = np.random.default_rng([seed, index, severity])
        return self.corruptions[corruption](x, severity, rng)


def _digits() -> Dataset:
    from snapcli.data.digits import load_digits

    return load_digits()


_LOADERS: dict[str, Callable[[], Dataset]] = {"digits": _digits}


def check_dataset(name: str) -> None:
    """Raises UsageError for a name that load_dataset would not know."""
    if name not in _LOADERS:
        raise UsageError(f"unknown data set '{name}'", suggestion(name, _LOADERS))


def load_dataset(name: str) -> Dataset:
    check_dataset(name)
    return _LOADERS[name]()
