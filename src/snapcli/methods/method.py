"""What every method is: fitted on training and dev data, then a score for any batch.

A method never sees inputs. It sees what a network shows of them in one pass, so that the same
code judges the float model, the integer reference and what came back from a device.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array

LOGITS, FEATURES = "logits", "features"
SURPRISAL, UNCERTAINTY = "surprisal", "uncertainty"
FOREIGN, DISTANCE = "foreign", "distance"


@dataclass(frozen=True, eq=False)
class Batch:
    """outputs: {name: [n, ...]} of a network: LOGITS, FEATURES (what its last layer takes),
    SURPRISAL [n, taps], UNCERTAINTY and FOREIGN [n] (U and F), DISTANCE [n, 2] (to the answered and
    the next class), all three as the device has them, pooled blocks by their names.
    y [n]: the right answers, -1 for foreign inputs, which have none."""

    outputs: Mapping[str, Array]
    y: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def logits(self) -> Array:
        return self.outputs[LOGITS]


@dataclass(frozen=True, eq=False)
class Dev:
    """Dev data: clean, and corrupted by (type, severity)."""

    clean: Batch
    corrupted: Mapping[tuple[str, int], Batch]

    def of_types(self, types: Sequence[str]) -> "Dev":
        kept = {key: batch for key, batch in self.corrupted.items() if key[0] in types}
        return Dev(self.clean, kept)

    def types(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.corrupted))

    def batches(self) -> list[Batch]:
        return [self.clean, *self.corrupted.values()]


@dataclass(frozen=True)
class Tuning:
    """grid: {parameter: values tried}; chosen: {parameter: value}; score: what the choice reached
    on dev data, of the figure that `by` names."""

    grid: dict[str, list[Any]]
    chosen: dict[str, Any]
    by: str
    score: float


def softmax(logits: Array, temperature: float = 1.0) -> Array:
    """[..., classes] -> the same shape, each row sums to 1."""
    shifted = (logits - logits.max(axis=-1, keepdims=True)) / temperature
    grown = np.exp(shifted)
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


class Method(Protocol):
    """name: as on the command line. source: where it was published, or "" for what is plain.
    learns_shift: whether parameters beyond a small grid are fitted to corrupted dev data; such a
    method is judged on types that its fit has not seen. tuning_: None where there is nothing to
    choose."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def learns_shift(self) -> bool: ...
    @property
    def tuning_(self) -> Tuning | None: ...

    def fit(self, train: Batch, dev: Dev) -> None: ...

    def score(self, batch: Batch) -> Array:
        """[n], grows with uncertainty."""

    def uncertainty(self, batch: Batch) -> Array | None:
        """[n]: the probability that the answer is wrong, in the order of the score; None from a
        method that has none."""

    def probabilities(self, batch: Batch) -> Array:
        """[n, classes]: the posterior."""

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        """[n]: the class that the method takes."""


class _Plain(ABC):
    """What most methods are: a score that needs no fit and is not a probability."""

    name: str
    source = ""
    learns_shift = False
    tuning_: Tuning | None = None

    def fit(self, train: Batch, dev: Dev) -> None:
        """Nothing, unless a method says otherwise."""

    @abstractmethod
    def score(self, batch: Batch) -> Array: ...

    def uncertainty(self, batch: Batch) -> Array | None:
        return None


class SinglePass(_Plain):
    """A score from one pass of the trained model, whose answers it leaves as they are."""

    def probabilities(self, batch: Batch) -> Array:
        return softmax(batch.logits)

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        return batch.logits.argmax(axis=-1)


class TrainedMethod(_Plain):
    """The answer is the class with the largest posterior."""

    @abstractmethod
    def probabilities(self, batch: Batch) -> Array: ...

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        return self.probabilities(batch).argmax(axis=-1)
