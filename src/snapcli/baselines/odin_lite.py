"""ODIN without its perturbation of inputs: a softmax flattened by a large temperature."""

from snapcli.baselines.method import Array, Batch, Dev, SinglePass, softmax
from snapcli.baselines.tuning import chosen_from, errors_found

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
        return 1.0 - softmax(batch.logits, self.temperature_).max(axis=-1)
