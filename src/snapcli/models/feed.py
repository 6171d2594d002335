"""The training examples of one epoch as batches, made in a thread while the last ones are used."""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.data import Dataset
from snapcli.data.dataset import Inputs

# Examples that are prepared at once: enough to be quick, few enough to fit beside a training.
_CHUNK = 2048
_AHEAD = 2


@dataclass(frozen=True)
class Batch:
    """x [n, h, w, c]; the target of row i is `share` of class y[i] and the rest of class other[i];
    share is 1 where nothing is mixed."""

    x: Inputs
    y: NDArray[np.int64]
    other: NDArray[np.int64]
    share: float

    def tensors(self) -> dict[str, Any]:
        """The fields by name, for a compiled step."""
        import tensorflow as tf

        return {
            "x": tf.constant(self.x),
            "y": tf.constant(self.y),
            "other": tf.constant(self.other),
            "share": tf.constant(self.share, tf.float32),
        }


class Feed:
    """Iterates over the batches of one epoch; waited_s is the time that they were waited for."""

    def __init__(
        self, data: Dataset, batch_size: int, mixup: float, rng: np.random.Generator
    ) -> None:
        self._data, self._size, self._mixup, self._rng = data, batch_size, mixup, rng
        self.waited_s = 0.0

    def __iter__(self) -> Iterator[Batch]:
        order = self._rng.permutation(len(self._data.train))
        rows = max(1, _CHUNK // self._size) * self._size
        chunks = deque(order[start : start + rows] for start in range(0, len(order), rows))
        ahead: deque[Future[list[Batch]]] = deque()
        # One thread: the generator is drawn from in the order of the chunks.
        with ThreadPoolExecutor(1) as pool:
            try:
                while chunks or ahead:
                    while chunks and len(ahead) < _AHEAD:
                        ahead.append(pool.submit(self._prepared, chunks.popleft()))
                    started = time.monotonic()
                    batches = ahead.popleft().result()
                    self.waited_s += time.monotonic() - started
                    yield from batches
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _prepared(self, rows: NDArray[np.intp]) -> list[Batch]:
        train = self._data.train
        x, y = self._data.augmented(train.x[rows], self._rng), train.y[rows]
        starts = range(0, len(rows), self._size)
        return [self._batch(x[s : s + self._size], y[s : s + self._size]) for s in starts]

    def _batch(self, x: Inputs, y: NDArray[np.int64]) -> Batch:
        if not self._mixup:
            return Batch(x, y, y, 1.0)
        share = float(self._rng.beta(self._mixup, self._mixup))
        partner = self._rng.permutation(len(y))
        mixed = np.float32(share) * x + np.float32(1 - share) * x[partner]
        return Batch(mixed, y, y[partner], share)
