"""Distance to the nearest class at the last tap, with one full covariance for all classes."""

from collections.abc import Sequence

from snapcli.baselines.method import Array, Batch, Dev, SinglePass
from snapcli.score.mahalanobis import fit_mahalanobis


class MahalanobisFull(SinglePass):
    """The distance that a map may take as its third input, by itself."""

    name = "mahalanobis-full"
    source = (
        "Lee et al., A Simple Unified Framework for Detecting Out-of-Distribution Samples and "
        "Adversarial Attacks, 2018; Ledoit-Wolf shrinkage"
    )

    def __init__(self, taps: Sequence[str]) -> None:
        self._tap = taps[-1]

    def fit(self, train: Batch, dev: Dev) -> None:
        self.distance_ = fit_mahalanobis(train.outputs[self._tap], train.y)

    def score(self, batch: Batch) -> Array:
        return self.distance_.distance(batch.outputs[self._tap])
