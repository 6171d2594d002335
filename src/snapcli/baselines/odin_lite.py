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
        batches = dev.batches()

        def found(temperature: float) -> float:
            return errors_found(lambda i: _doubt(batches[i], temperature), dev)

        self.tuning_ = chosen_from({"temperature": _TEMPERATURES}, found)
        self.temperature_ = self.tuning_.chosen["temperature"]

    def score(self, batch: Batch) -> Array:
        return _doubt(batch, self.temperature_)


def _doubt(batch: Batch, temperature: float) -> Array:
    return 1.0 - softmax(batch.logits, temperature).max(axis=-1)
