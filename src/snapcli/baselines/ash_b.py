"""ASH-B: the largest features of every input share the sum of all, the others become 0."""

import numpy as np

from snapcli.baselines.ash_s import SOURCE, AshS
from snapcli.baselines.method import Array


class AshB(AshS):
    name = "ash-b"
    source = f"{SOURCE} (ASH-B)"

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
