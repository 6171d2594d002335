"""1 - max p of logits over a temperature that makes dev data likely."""

import numpy as np
from scipy.special import expit, log_softmax

from snapcli.baselines.method import Array, Batch, Dev, SinglePass, softmax
from snapcli.baselines.tuning import chosen_from
from snapcli.score.confidence import error_logit

# The paper's.
_TEMPERATURES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)


class Temperature(SinglePass):
    name = "temperature"
    source = "Guo et al., On Calibration of Modern Neural Networks, 2017"
    is_probability = True

    def fit(self, train: Batch, dev: Dev) -> None:
        clean = dev.clean
        rows = np.arange(len(clean))

        def likelihood(temperature: float) -> float:
            return float(log_softmax(clean.logits / temperature, axis=-1)[rows, clean.y].mean())

        by = "mean log-likelihood of clean dev data"
        self.tuning_ = chosen_from({"temperature": _TEMPERATURES}, likelihood, by)
        self.temperature_ = self.tuning_.chosen["temperature"]

    def score(self, batch: Batch) -> Array:
        return expit(error_logit(batch.logits, self.temperature_))

    def probabilities(self, batch: Batch) -> Array:
        return softmax(batch.logits, self.temperature_)
