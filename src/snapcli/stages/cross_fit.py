"""A fitted method that is never judged on corruption types that it was fitted to."""

from collections.abc import Callable
from copy import copy

import numpy as np
from numpy.typing import NDArray

from snapcli.baselines.method import Array, Batch, Dev, Method
from snapcli.score.calibration import halves
from snapcli.stages.evidence import Evidence

_FEWEST_TYPES = 2


class CrossFitted:
    """whole: fitted on all of dev, as it would be deployed. A method that learns shift is fitted
    on each half of the corruption types as well; each judges the other half, and both together,
    by their mean, what belongs to neither. What the whole took from a few kinds is kept by its
    halves, for scores of different kinds of maps would not compare."""

    def __init__(self, make: Callable[[], Method], evidence: Evidence) -> None:
        dev = evidence.dev
        self.whole = _fitted(make(), evidence.train, dev)
        self._parts: list[tuple[list[str], Method]] = []
        if self.whole.learns_shift and len(dev.types()) >= _FEWEST_TYPES:
            self._parts = [
                (half, _fitted(copy(self.whole), evidence.train, dev.of_types(half)))
                for half in halves(dev.types())
            ]

    def score(self, batch: Batch, corruption: str | None = None) -> Array:
        """corruption: the type of the batch, None where it is clean or foreign."""
        return self._judged(lambda method: method.score(batch), corruption)

    def probabilities(self, batch: Batch, corruption: str | None = None) -> Array:
        return self._judged(lambda method: method.probabilities(batch), corruption)

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        return self.whole.answers(batch)

    def _judged(self, ask: Callable[[Method], Array], corruption: str | None) -> Array:
        unseen = [method for types, method in self._parts if corruption not in types]
        found = [ask(method) for method in (unseen or [self.whole])]
        return np.mean(found, axis=0)


def _fitted(method: Method, train: Batch, dev: Dev) -> Method:
    method.fit(train, dev)
    return method
