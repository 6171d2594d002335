"""Scores of the logits alone: max-probability, entropy, temperature, energy, ODIN without its
perturbation."""

from scipy.special import expit
from scipy.stats import entropy

from snapcli.array import Array
from snapcli.methods.method import Batch, Dev, SinglePass, softmax
from snapcli.methods.tuning import chosen_from, errors_auroc
from snapcli.score.confidence import energy, error_logit, fit_temperature


class MaxProbability(SinglePass):
    """1 - max p."""

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


class Entropy(SinglePass):
    """Of the softmax, in nats."""

    name = "entropy"
    source = "Shannon, A Mathematical Theory of Communication, 1948"

    def score(self, batch: Batch) -> Array:
        return entropy(softmax(batch.logits), axis=-1)


class Temperature(SinglePass):
    """1 - max p of logits over the temperature that makes clean dev data likeliest: U by the map of
    that name."""

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


class _ByTemperature(SinglePass):
    """The temperature is the one whose score finds most errors on dev data."""

    temperatures: tuple[float, ...]

    def fit(self, train: Batch, dev: Dev) -> None:
        def auroc(temperature: float) -> float:
            self.temperature_ = temperature
            return errors_auroc(self, dev)

        self.tuning_ = chosen_from({"temperature": self.temperatures}, auroc)
        self.temperature_ = self.tuning_.chosen["temperature"]


class FreeEnergy(_ByTemperature):
    """Free energy."""

    name = "energy"
    source = "Liu et al., Energy-based Out-of-distribution Detection, 2020"
    temperatures = (0.5, 1.0, 1.5, 2.0)  # the paper's

    def score(self, batch: Batch) -> Array:
        return energy(batch.logits, self.temperature_)


class OdinLite(_ByTemperature):
    """A softmax flattened by a large temperature."""

    name = "odin-lite"
    source = (
        "Liang et al., Enhancing The Reliability of Out-of-distribution Image Detection in Neural "
        "Networks, 2018; without input perturbation, which needs a gradient and a second pass"
    )
    temperatures = (1.0, 10.0, 100.0, 1000.0)

    def score(self, batch: Batch) -> Array:
        # As max-probability computes it: at T = 1 the two are the same.
        return expit(error_logit(batch.logits, self.temperature_))
