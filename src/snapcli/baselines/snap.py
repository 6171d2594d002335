"""SNAP-UQ: surprisals of the taps, weighed to S, with the softmax made a probability of error."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit

from snapcli.baselines.method import SURPRISAL, UNCERTAINTY, Array, Batch, Dev, SinglePass, softmax
from snapcli.score.calibration import Condition, Conditions, choose_map, fit_map
from snapcli.score.choice import MIN_ERRORS
from snapcli.score.confidence import doubt, error_logit, fit_temperature
from snapcli.score.maps import Features, Map, log_of
from snapcli.score.weights import tap_weights

_SOURCE = "SNAP-UQ, 2026"
# Of max-probability, against margin, in m.
_ALPHA = 0.5


class Surprise(SinglePass):
    """S itself, without a map."""

    source = _SOURCE

    def __init__(self, name: str, surprisal: str = SURPRISAL) -> None:
        """surprisal: the output that holds [n, taps]."""
        self.name, self._surprisal = name, surprisal

    def fit(self, train: Batch, dev: Dev) -> None:
        self.weights_ = tap_weights(dev.clean.outputs[self._surprisal], "inverse-variance")

    def score(self, batch: Batch) -> Array:
        return np.asarray(batch.outputs[self._surprisal] @ self.weights_)


class Snap(SinglePass):
    """U by one of config.MAPS, or by the one that `auto` takes on the dev data of the first fit."""

    source = _SOURCE
    learns_shift = True

    def __init__(self, name: str, kind: str, surprisal: str = SURPRISAL) -> None:
        self.name, self._kind, self._surprisal = name, kind, surprisal
        self.is_probability = kind != "percentile"

    def fit(self, train: Batch, dev: Dev) -> None:
        clean = dev.clean
        self.temperature_ = fit_temperature(clean.logits, clean.y)
        self.weights_ = tap_weights(clean.outputs[self._surprisal], "inverse-variance")
        on_dev = Conditions(
            self._condition(clean), {k: self._condition(b) for k, b in dev.corrupted.items()}
        )
        self.map_ = self._map(on_dev)
        self._kind = self.map_.kind

    def _map(self, dev: Conditions) -> Map:
        if self._kind != "auto":
            return fit_map(self._kind, dev, dev.types())
        errors = sum(int(c.wrong.sum()) for c in (dev.clean, *dev.corrupted.values()))
        if errors < MIN_ERRORS:
            return fit_map("temperature", dev, [])
        return choose_map("auto", dev).map

    def score(self, batch: Batch) -> Array:
        return self.map_(self._features(batch))

    def probabilities(self, batch: Batch) -> Array:
        """The answer gets 1 - U; the other classes share U as the softmax has it."""
        answers, rows = self.answers(batch), np.arange(len(batch))
        others = softmax(batch.logits, self.temperature_)
        others[rows, answers] = 0.0
        total = others.sum(axis=-1, keepdims=True)
        even = 1.0 / (others.shape[1] - 1)
        posterior = np.divide(others, total, out=np.full_like(others, even), where=total > 0)
        # Without a map from errors, U says nothing of how likely they are.
        wrong = self._error_probability(batch)
        posterior = posterior * wrong[:, None]
        posterior[rows, answers] = 1.0 - wrong
        return posterior

    def _error_probability(self, batch: Batch) -> Array:
        if self.is_probability:
            return self.score(batch)
        return np.asarray(expit(error_logit(batch.logits, self.temperature_)))

    def _condition(self, batch: Batch) -> Condition:
        return Condition(self._features(batch), self.answers(batch) != batch.y)

    def _features(self, batch: Batch) -> Features:
        surprisal = batch.outputs[self._surprisal]
        return Features(
            surprisal @ self.weights_,
            error_logit(batch.logits, self.temperature_),
            doubt(batch.logits, self.temperature_, _ALPHA),
            surprisal,
            self._third(batch),
        )

    def _third(self, batch: Batch) -> Array | None:
        return None


class Unblended(Snap):
    """U by S alone: the map is not told how sure the softmax is."""

    def _features(self, batch: Batch) -> Features:
        nothing = np.zeros(len(batch))
        return replace(super()._features(batch), error_logit=nothing, doubt=nothing)


class Deployed(Snap):
    """U as the device sends it, by the map that was deployed."""

    # Nothing of U is fitted here.
    learns_shift = False

    def fit(self, train: Batch, dev: Dev) -> None:
        """The temperature alone, by which the other classes share U."""
        self.temperature_ = fit_temperature(dev.clean.logits, dev.clean.y)

    def score(self, batch: Batch) -> Array:
        return batch.outputs[UNCERTAINTY]


class Hybrid(Snap):
    """The gated map with a gate more: the distance to the nearest class at the last tap."""

    def __init__(self, taps: Sequence[str]) -> None:
        super().__init__("hybrid", "gated")
        self._tap = taps[-1]

    def fit(self, train: Batch, dev: Dev) -> None:
        from snapcli.score.mahalanobis import fit_mahalanobis

        self.distance_ = fit_mahalanobis(train.outputs[self._tap], train.y)
        super().fit(train, dev)

    def _third(self, batch: Batch) -> Array | None:
        return log_of(self.distance_.distance(batch.outputs[self._tap]))
