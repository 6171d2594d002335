"""What methods have in common that train a network of their own: they answer with it, too."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from snapcli.baselines.method import Array, Batch, Dev, Tuning
from snapcli.metrics.detection import detection


class Trained(ABC):
    """The answer is the class with the largest posterior."""

    name: str
    source: str
    learns_shift = False
    is_probability = False
    tuning_: Tuning | None = None

    def fit(self, train: Batch, dev: Dev) -> None:  # noqa: B027, not every method has to
        """Nothing, unless a method says otherwise."""

    @abstractmethod
    def score(self, batch: Batch) -> Array: ...

    @abstractmethod
    def probabilities(self, batch: Batch) -> Array: ...

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        return self.probabilities(batch).argmax(axis=-1)


def errors_found(
    dev: Dev, posterior: Callable[[Batch], Array], score: Callable[[Batch], Array]
) -> float:
    """AUROC of the errors of these posteriors over all dev data; nan where there is none."""
    batches = dev.batches()
    wrong = np.concatenate([posterior(batch).argmax(axis=-1) != batch.y for batch in batches])
    return detection(wrong, np.concatenate([score(batch) for batch in batches])).auroc
