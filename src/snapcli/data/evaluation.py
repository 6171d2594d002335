"""The conditions a monitor is fitted and judged on: clean, every corruption, every OOD set."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.data.dataset import Dataset, Images

SEVERITIES = (1, 2, 3, 4, 5)
# Dev and test draw different noise; neither depends on the seed of a run.
_SEEDS = {"dev": 1, "test": 0}


@dataclass(frozen=True)
class Key:
    """split is dev, test or ood; condition is clean, a corruption type or the OOD set's name."""

    split: str
    condition: str
    severity: int = 0

    def __str__(self) -> str:
        return f"{self.split}/{self.condition}/{self.severity}"


def evaluation_inputs(dataset: Dataset) -> dict[Key, Images]:
    """Every condition's images, in a fixed order."""
    found: dict[Key, Images] = {}
    for split, seed in _SEEDS.items():
        x = getattr(dataset, split).x
        found[Key(split, "clean")] = x
        for name in dataset.corruptions:
            for severity in SEVERITIES:
                found[Key(split, name, severity)] = dataset.corrupted(x, name, severity, seed)
    for name, images in dataset.ood.items():
        found[Key("ood", name)] = images
    return found


def labels(dataset: Dataset, key: Key) -> NDArray[np.int64] | None:
    """None for an OOD set, which has no right answer."""
    split = {"dev": dataset.dev, "test": dataset.test}.get(key.split)
    return split.y if split else None


def split_back(keys: Mapping[Key, Images], stacked: np.ndarray) -> dict[Key, np.ndarray]:
    """Undoes np.concatenate(list(keys.values())) for a result with one row per image."""
    ends = np.cumsum([len(x) for x in keys.values()])[:-1]
    return dict(zip(keys, np.split(stacked, ends), strict=True))
