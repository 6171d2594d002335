"""Free energy of the logits."""

from snapcli.baselines.method import Array, Batch, Dev, SinglePass
from snapcli.baselines.tuning import chosen_from, errors_found
from snapcli.score.confidence import energy

# The paper's.
_TEMPERATURES = (0.5, 1.0, 1.5, 2.0)


class Energy(SinglePass):
    name = "energy"
    source = "Liu et al., Energy-based Out-of-distribution Detection, 2020"

    def fit(self, train: Batch, dev: Dev) -> None:
        def found(temperature: float) -> float:
            self.temperature_ = temperature
            return errors_found(self, dev)

        self.tuning_ = chosen_from({"temperature": _TEMPERATURES}, found)
        self.temperature_ = self.tuning_.chosen["temperature"]

    def score(self, batch: Batch) -> Array:
        return energy(batch.logits, self.temperature_)
