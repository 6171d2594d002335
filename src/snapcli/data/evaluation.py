"""The conditions a monitor is fitted and judged on: clean, every corruption, every OOD set.

They are made when they are asked for, a few ahead in threads: all of them at once would not fit
into memory.
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.data.dataset import Dataset, Inputs, Raw
from snapcli.data.files.features import cached

# Dev and test draw different noise; neither depends on the seed of a run.
_SEEDS = {"dev": 1, "test": 0}
_SUBSET_SEED = 0


@dataclass(frozen=True)
class Key:
    """split is dev, test or ood; condition is clean, a corruption type or the OOD set's name;
    severity is 0 for all but corruptions that have a scale."""

    split: str
    condition: str
    severity: int = 0

    def __str__(self) -> str:
        return f"{self.split}/{self.condition}/{self.severity}"


@dataclass(frozen=True)
class Evaluation:
    """limit: at most this many examples of each corrupted condition and OOD set, the same ones
    in every condition of a split; clean data are never cut."""

    dataset: Dataset
    limit: int

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every condition, in a fixed order."""
        every = []
        for split in _SEEDS:
            every.append(Key(split, "clean"))
            for name in self.dataset.corruptions:
                every += [Key(split, name, s) for s in self.dataset.severities(split, name)]
        return (*every, *(Key("ood", name) for name in self.dataset.ood))

    def rows(self, key: Key) -> NDArray[np.intp]:
        """Which examples of its split or OOD set a condition holds."""
        ood = key.split == "ood"
        count = len(self.dataset.ood[key.condition]) if ood else len(self.dataset.split(key.split))
        if count <= self.limit or key.condition == "clean":
            return np.arange(count)
        order = np.random.default_rng(_SUBSET_SEED).permutation(count)
        return np.sort(order[: self.limit])

    def first_half(self, key: Key) -> Bools:
        """Which examples of a condition come from the first half of their split: those of even
        number there, whatever was made of them."""
        return self.rows(key) % 2 == 0

    def labels(self, key: Key) -> NDArray[np.int64] | None:
        """None for an OOD set, which has no right answer."""
        return None if key.split == "ood" else self.dataset.split(key.split).y[self.rows(key)]

    def raw(self, key: Key) -> Raw:
        rows = self.rows(key)
        if key.split == "ood":
            return np.asarray(self.dataset.ood[key.condition][rows])
        if key.condition == "clean":
            return self.dataset.split(key.split).x
        seed = _SEEDS[key.split]
        return self.dataset.shifted(key.split, rows, key.condition, key.severity, seed)

    def inputs(self, key: Key) -> Inputs:
        if self.dataset.identity is None:
            return self.dataset.front_end(self.raw(key))
        identity = {"of": self.dataset.identity, "key": str(key), "limit": self.limit}
        return cached(identity, lambda: self.dataset.front_end(self.raw(key)))

    def each(self) -> Iterator[tuple[Key, Inputs]]:
        """Every condition with its inputs; the next ones are made while one is worked on."""
        ahead: deque[tuple[Key, Future[Inputs]]] = deque()
        workers = os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            try:
                for key in self.keys:
                    ahead.append((key, pool.submit(self.inputs, key)))
                    if len(ahead) > workers:
                        first, future = ahead.popleft()
                        yield first, future.result()
                while ahead:
                    first, future = ahead.popleft()
                    yield first, future.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    @property
    def examples(self) -> int:
        """Of all conditions together."""
        return sum(len(self.rows(key)) for key in self.keys)
