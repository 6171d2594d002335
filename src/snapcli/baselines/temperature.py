"""1 - max p of logits over the temperature that makes clean dev data likeliest."""

from scipy.special import expit

from snapcli.baselines.method import Array, Batch, Dev, SinglePass, softmax
from snapcli.score.confidence import error_logit, fit_temperature


class Temperature(SinglePass):
    """U by the map of that name."""

    name = "temperature"
    source = "Guo et al., On Calibration of Modern Neural Networks, 2017"

    def fit(self, train: Batch, dev: Dev) -> None:
        self.temperature_ = fit_temperature(dev.clean.logits, dev.clean.y)

    def score(self, batch: Batch) -> Array:
        return expit(error_logit(batch.logits, self.temperature_))

    def uncertainty(self, batch: Batch) -> Array:
        return self.score(batch)

    def probabilities(self, batch: Batch) -> Array:
        return softmax(batch.logits, self.temperature_)
