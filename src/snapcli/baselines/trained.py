"""What methods have in common that train a network of their own: they answer with it, too."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from snapcli.baselines.method import Array, Batch, Dev, Tuning


class Trained(ABC):
    """The answer is the class with the largest posterior."""

    name: str
    source: str
    learns_shift = False
    tuning_: Tuning | None = None

    def fit(self, train: Batch, dev: Dev) -> None:  # noqa: B027, not every method has to
        """Nothing, unless a method says otherwise."""

    @abstractmethod
    def score(self, batch: Batch) -> Array: ...

    def uncertainty(self, batch: Batch) -> Array | None:
        return None

    @abstractmethod
    def probabilities(self, batch: Batch) -> Array: ...

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        return self.probabilities(batch).argmax(axis=-1)
