"""Scores of features that were changed in front of the last layer: ReAct, ASH-S, ASH-B."""

from dataclasses import dataclass

import numpy as np

from snapcli.array import Array
from snapcli.methods.method import FEATURES, Batch, Dev, SinglePass
from snapcli.methods.tuning import chosen_from, errors_auroc
from snapcli.score.confidence import energy

# Of the features of clean dev data: what lies above is cut off.
_PERCENTILES = (80, 85, 90, 95, 99)
# Of the features of an input: what lies below is pruned.
_PRUNED = (65, 70, 75, 80, 85, 90)
_ASH = (
    "Djurisic et al., Extremely Simple Activation Shaping for Out-of-Distribution Detection, 2023"
)


@dataclass(frozen=True, eq=False)
class LastLayer:
    """weights [features, classes], bias [classes]; largest: what a feature can be at most, which
    has an end in int8."""

    weights: Array
    bias: Array
    largest: float = float("inf")

    def logits(self, features: Array) -> Array:
        """[n, features] -> [n, classes]."""
        return features @ self.weights + self.bias


class ReAct(SinglePass):
    """Features that are larger than usual are cut off, then the energy of their logits."""

    name = "react"
    source = "Sun et al., ReAct: Out-of-distribution Detection With Rectified Activations, 2021"

    def __init__(self, last: LastLayer) -> None:
        self._last = last

    def fit(self, train: Batch, dev: Dev) -> None:
        limits = np.percentile(dev.clean.outputs[FEATURES], _PERCENTILES)
        limit_of = dict(zip(_PERCENTILES, limits.tolist(), strict=True))

        def auroc_at(percentile: int) -> float:
            self.limit_ = limit_of[percentile]
            return errors_auroc(self, dev)

        self.tuning_ = chosen_from({"percentile": _PERCENTILES}, auroc_at)
        self.limit_ = limit_of[self.tuning_.chosen["percentile"]]

    def score(self, batch: Batch) -> Array:
        features = np.minimum(batch.outputs[FEATURES], self.limit_)
        return energy(self._last.logits(features), 1.0)


class AshS(SinglePass):
    """The smallest features of every input become 0, the rest is scaled up by what went."""

    name = "ash-s"
    source = f"{_ASH} (ASH-S)"

    def __init__(self, last: LastLayer) -> None:
        self._last = last

    def fit(self, train: Batch, dev: Dev) -> None:
        def auroc_at(percentile: int) -> float:
            self.percentile_ = percentile
            return errors_auroc(self, dev)

        self.tuning_ = chosen_from({"percentile": _PRUNED}, auroc_at)
        self.percentile_ = self.tuning_.chosen["percentile"]

    def score(self, batch: Batch) -> Array:
        return energy(self._last.logits(self.shaped(batch.outputs[FEATURES])), 1.0)

    def shaped(self, features: Array) -> Array:
        """[n, features], not negative: what is below the row's percentile becomes 0, the rest is
        multiplied by exp(sum before / sum after)."""
        limit = np.percentile(features, self.percentile_, axis=-1, keepdims=True)
        kept = np.where(features >= limit, features, 0.0)
        before, after = (part.sum(axis=-1, keepdims=True) for part in (features, kept))
        # A row without any activation stays as it is.
        ratio = np.divide(before, after, out=np.ones_like(before), where=after > 0)
        return np.asarray(kept * np.exp(ratio))


class AshB(AshS):
    """The largest features of every input share the sum of all, the others become 0."""

    name = "ash-b"
    source = f"{_ASH} (ASH-B)"

    def kept(self, count: int) -> int:
        """How many of `count` features are not pruned."""
        return max(1, round(count * (1 - self.percentile_ / 100)))

    def shaped(self, features: Array) -> Array:
        """[n, features]; of equal ones the first are kept. No share is larger than a feature of
        the network can be."""
        kept = self.kept(features.shape[1])
        share = np.clip(features.sum(axis=-1, keepdims=True) / kept, 0.0, self._last.largest)
        order = np.argsort(-features, axis=-1, kind="stable")
        shaped = np.zeros_like(features)
        np.put_along_axis(shaped, order[:, :kept], share, axis=-1)
        return shaped
