"""ReAct: features that are larger than usual are cut off, then the energy of their logits."""

import numpy as np

from snapcli.baselines.last_layer import LastLayer
from snapcli.baselines.method import FEATURES, Array, Batch, Dev, SinglePass
from snapcli.baselines.tuning import chosen_from, errors_found
from snapcli.score.confidence import energy

# Of the features of clean dev data.
_PERCENTILES = (80, 85, 90, 95, 99)


class ReAct(SinglePass):
    name = "react"
    source = "Sun et al., ReAct: Out-of-distribution Detection With Rectified Activations, 2021"

    def __init__(self, last: LastLayer) -> None:
        self._last = last

    def fit(self, train: Batch, dev: Dev) -> None:
        limits = np.percentile(dev.clean.outputs[FEATURES], _PERCENTILES)
        limit_of = dict(zip(_PERCENTILES, limits.tolist(), strict=True))

        def found(percentile: int) -> float:
            self.limit_ = limit_of[percentile]
            return errors_found(self, dev)

        self.tuning_ = chosen_from({"percentile": _PERCENTILES}, found)
        self.limit_ = limit_of[self.tuning_.chosen["percentile"]]

    def score(self, batch: Batch) -> Array:
        features = np.minimum(batch.outputs[FEATURES], self.limit_)
        return energy(self._last.logits(features), 1.0)
