"""What a data set is: three splits of raw examples, and the shifts a monitor is judged on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.data.corruptions.types import Corruption

Raw = NDArray[Any]
"""Examples as they are stored: images [n, height, width, channels], uint8 or float32 in [0, 1];
clips [n, samples], int16."""
Inputs = NDArray[np.float32]
"""What a network takes: [n, height, width, channels]."""

SEVERITIES = (1, 2, 3, 4, 5)
# Of a corruption that was published in one strength: it has no place on the scale above.
UNGRADED = 0
# What the largest stored number stands for: images span [0, 1], sound [-1, 1).
_FULL_SCALE = {np.dtype(np.uint8): 255.0, np.dtype(np.int16): 32768.0}


def as_real(x: Raw) -> NDArray[np.float32]:
    """Stored examples as real numbers: images in [0, 1], sound in [-1, 1)."""
    full = _FULL_SCALE.get(x.dtype)
    return np.asarray(x, np.float32) if full is None else x.astype(np.float32) / np.float32(full)


def as_stored(x: NDArray[np.float32], dtype: np.dtype[Any]) -> Raw:
    """The inverse of as_real; what lies beyond the range is cut off."""
    full = _FULL_SCALE.get(dtype)
    if full is None:
        return x
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x * np.float32(full)), limits.min, limits.max).astype(dtype)


@dataclass(frozen=True)
class Split:
    """x: [n, ...] raw examples; y: [n] int64 class indices; origins: [n] names of where each
    example came from, by which splits are known to be disjoint."""

    x: Raw
    y: NDArray[np.int64]
    origins: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.intp]) -> "Split":
        return Split(self.x[rows], self.y[rows], self.origins[rows])

    def spread(self, count: int) -> "Split":
        """At most so many examples, from all over the split whatever its order."""
        return self.take(np.linspace(0, len(self) - 1, min(len(self), count)).astype(np.intp))


@dataclass(frozen=True)
class Published:
    """Corrupted test examples as somebody published them, aligned with the test split.

    severities: (UNGRADED,) where there is only one.
    """

    severities: tuple[int, ...]
    read: Callable[[int], Raw]


def as_they_are(x: Raw, rng: np.random.Generator) -> Raw:
    return x


def _unchanged(x: Inputs, rng: np.random.Generator) -> Inputs:
    return x


@dataclass(frozen=True)
class Dataset:
    """Raw splits, and how they become what the network takes.

    front_end turns raw examples into inputs. augment varies raw training examples,
    augment_inputs varies their inputs. corruptions maps a type to a function; dev_corruptions
    are the same types with other sources of noise, None where they have none. published holds
    the test set's corruptions where the user has the official files. ood maps a name to raw
    examples without a label; ood_splits says of each whether streams of dev or of test may show
    it (where it matters; else they are halved). identity names the content, None where inputs
    are cheap to make again; notes are what the loader has to tell. labelled: whether y are the
    right answers; otherwise they mean nothing until somebody puts a model's own there.
    """

    name: str
    class_names: tuple[str, ...]
    train: Split
    dev: Split
    test: Split
    corruptions: dict[str, Corruption]
    ood: dict[str, Raw]
    front_end: Callable[[Raw], Inputs] = as_real
    augment: Callable[[Raw, np.random.Generator], Raw] = as_they_are
    augment_inputs: Callable[[Inputs, np.random.Generator], Inputs] = _unchanged
    dev_corruptions: dict[str, Corruption] | None = None
    published: dict[str, Published] = field(default_factory=dict)
    ood_splits: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    identity: str | None = None
    notes: tuple[str, ...] = ()
    labelled: bool = True

    @property
    def input_shape(self) -> tuple[int, int, int]:
        height, width, channels = self.front_end(self.train.x[:1]).shape[1:]
        return height, width, channels

    def split(self, name: str) -> Split:
        return {"train": self.train, "dev": self.dev, "test": self.test}[name]

    def augmented(self, x: Raw, rng: np.random.Generator) -> Inputs:
        """Inputs of varied training examples."""
        return self.augment_inputs(self.front_end(self.augment(x, rng)), rng)

    def severities(self, split: str, corruption: str) -> tuple[int, ...]:
        """Those that a corruption of dev or test examples has, mildest first; (UNGRADED,) where it
        has one that is on no scale."""
        published = self.published.get(corruption)
        return published.severities if published and split == "test" else SEVERITIES

    def corrupted(
        self, x: Raw, corruption: str, severity: int, seed: int, split: str = "test"
    ) -> Raw:
        """The same examples for the same arguments, whatever was drawn before."""
        index = list(self.corruptions).index(corruption)
        rng = np.random.default_rng([seed, index, severity])
        functions = self.dev_corruptions if split == "dev" else None
        changed = (functions or self.corruptions)[corruption](as_real(x), severity, rng)
        return as_stored(changed, x.dtype)

    def shifted(
        self, split: str, rows: NDArray[np.intp], corruption: str, severity: int, seed: int
    ) -> Raw:
        """Corrupted examples of dev or test, published ones where the user has them; severity:
        one of severities(split, corruption)."""
        published = self.published.get(corruption)
        if published and split == "test":
            assert severity in published.severities
            return published.read(severity)[rows]
        return self.corrupted(self.split(split).x[rows], corruption, severity, seed, split)
