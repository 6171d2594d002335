"""1 - max E[p] of the Dirichlet that evidence for each class leads to."""

import numpy as np

from snapcli.baselines.method import Array, Batch, Dev
from snapcli.baselines.trained import Trained
from snapcli.baselines.tuning import chosen_from, errors_found

# The paper's: how much evidence counts. Its other parameter, the weight of the regularizer, would
# need a training for each value; there is one.
_SCALES = (0.1, 0.5, 1.0)
_BY = "AUROC of errors less NLL, on dev data"


class Evidential(Trained):
    name = "evidential"
    source = (
        "Sensoy, Kaplan and Kandemir, Evidential Deep Learning to Quantify Classification "
        "Uncertainty, 2018"
    )

    def fit(self, train: Batch, dev: Dev) -> None:
        def value(scale: float) -> float:
            self.scale_ = scale
            return errors_found(self, dev) - self._nll(dev)

        self.tuning_ = chosen_from({"scale": _SCALES}, value, _BY)
        self.scale_ = self.tuning_.chosen["scale"]

    def _nll(self, dev: Dev) -> float:
        rights = [self.probabilities(b)[np.arange(len(b)), b.y] for b in dev.batches()]
        return -float(np.log(np.concatenate(rights)).mean())

    def score(self, batch: Batch) -> Array:
        return 1.0 - self.probabilities(batch).max(axis=-1)

    def uncertainty(self, batch: Batch) -> Array:
        return self.score(batch)

    def probabilities(self, batch: Batch) -> Array:
        """alpha / sum of alpha, with alpha = scale * softplus(logits) + 1."""
        alpha = self.scale_ * np.logaddexp(0.0, batch.logits) + 1.0
        return np.asarray(alpha / alpha.sum(axis=-1, keepdims=True))
