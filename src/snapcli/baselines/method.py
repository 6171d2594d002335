"""What every method is: fitted on training and dev data, then a score for any batch.

A method never sees inputs. It sees what a network shows of them in one pass, so that the same
code judges the float model, the integer reference and what came back from a device.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LOGITS, FEATURES = "logits", "features"


@dataclass(frozen=True, eq=False)
class Batch:
    """outputs: {name: [n, ...]} of a network: LOGITS, FEATURES (what its last layer takes), pooled
    blocks by their names. y [n]: the right answers, -1 for foreign inputs, which have none."""

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

    def of_types(self, types: list[str]) -> "Dev":
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


class Method(Protocol):
    """name: as on the command line. source: where it was published, or "" for what is plain.
    learns_shift: whether parameters beyond a small grid are fitted to corrupted dev data; such a
    method is judged on types that its fit has not seen. is_probability: whether the score is one,
    that the answer is wrong. tuning_: None where there is nothing to choose."""

    name: ClassVar[str]
    source: ClassVar[str]
    learns_shift: ClassVar[bool]
    is_probability: ClassVar[bool]
    tuning_: Tuning | None

    def fit(self, train: Batch, dev: Dev) -> None: ...

    def score(self, batch: Batch) -> Array:
        """[n], grows with uncertainty."""

    def probabilities(self, batch: Batch) -> Array:
        """[n, classes]: the posterior, whose largest entry is the method's answer."""
