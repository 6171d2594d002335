"""ASH-S: the smallest features of every input become 0, the rest is scaled up by what went."""

import numpy as np

from snapcli.baselines.last_layer import LastLayer
from snapcli.baselines.method import FEATURES, Array, Batch, Dev, SinglePass
from snapcli.baselines.tuning import chosen_from, errors_found
from snapcli.score.confidence import energy

# Of the features of an input: what lies below is pruned.
PERCENTILES = (65, 70, 75, 80, 85, 90)
SOURCE = (
    "Djurisic et al., Extremely Simple Activation Shaping for Out-of-Distribution Detection, 2023"
)


class AshS(SinglePass):
    name = "ash-s"
    source = f"{SOURCE} (ASH-S)"

    def __init__(self, last: LastLayer) -> None:
        self._last = last

    def fit(self, train: Batch, dev: Dev) -> None:
        def found(percentile: int) -> float:
            self.percentile_ = percentile
            return errors_found(self, dev)

        self.tuning_ = chosen_from({"percentile": PERCENTILES}, found)
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
