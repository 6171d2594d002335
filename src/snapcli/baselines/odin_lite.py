"""ODIN without its perturbation of inputs: a softmax flattened by a large temperature."""

from scipy.special import expit

from snapcli.baselines.method import Array, Batch, Dev, SinglePass
from snapcli.baselines.tuning import chosen_from, errors_found
from snapcli.score.confidence import error_logit

_TEMPERATURES = (1.0, 10.0, 100.0, 1000.0)


class OdinLite(SinglePass):
    name = "odin-lite"
    source = (
        "Liang et al., Enhancing The Reliability of Out-of-distribution Image Detection in Neural "
        "Networks, 2018; without input perturbation, which needs a gradient and a second pass"
    )

    def fit(self, train: Batch, dev: Dev) -> None:
        def found(temperature: float) -> float:
            self.temperature_ = temperature
            return errors_found(self, dev)

        self.tuning_ = chosen_from({"temperature": _TEMPERATURES}, found)
        self.temperature_ = self.tuning_.chosen["temperature"]

    def score(self, batch: Batch) -> Array:
        # As max-probability computes it: at T = 1 the two are the same.
        return expit(error_logit(batch.logits, self.temperature_))
