"""1 - max p."""

from scipy.special import expit

from snapcli.baselines.method import Array, Batch, SinglePass
from snapcli.score.confidence import error_logit


class MaxProbability(SinglePass):
    name = "max-probability"
    source = (
        "Hendrycks and Gimpel, A Baseline for Detecting Misclassified and "
        "Out-of-Distribution Examples in Neural Networks, 2017"
    )

    def score(self, batch: Batch) -> Array:
        # By way of the logit, which still tells sure answers apart where 1 - p is rounded away.
        return expit(error_logit(batch.logits, 1.0))

    def uncertainty(self, batch: Batch) -> Array:
        return self.score(batch)
