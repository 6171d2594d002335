"""SNAP-UQ: surprisals of the taps, weighed to S, with the softmax made a probability of error.

Weights, alpha, balance and third input are those of the calibration that is given.
"""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from snapcli.array import Array
from snapcli.config import ENERGY, NO_TAPS, NO_THIRD, CalibrateOptions
from snapcli.methods.method import (
    DISTANCE,
    FOREIGN,
    SURPRISAL,
    UNCERTAINTY,
    Batch,
    Dev,
    SinglePass,
    Tuning,
    softmax,
)
from snapcli.methods.tuning import BY_AUROC
from snapcli.score.calibration import Condition, Conditions, choose_map, fit_map
from snapcli.score.choice import BY_PREFERENCE
from snapcli.score.confidence import doubt, energy, error_logit, fit_temperature
from snapcli.score.foreign import fit_foreign
from snapcli.score.mahalanobis import Mahalanobis, fit_mahalanobis
from snapcli.score.maps import Features, Map, log_of
from snapcli.score.weights import tap_weights

_SOURCE = "SNAP-UQ, 2026"


class Surprise(SinglePass):
    """S itself, without a map."""

    source = _SOURCE

    def __init__(self, name: str, options: CalibrateOptions, surprisal: str = SURPRISAL) -> None:
        """surprisal: the output that holds [n, taps]."""
        self.name, self._options, self._surprisal = name, options, surprisal

    def fit(self, train: Batch, dev: Dev) -> None:
        self.weights_ = tap_weights(dev.clean.outputs[self._surprisal], self._options.weights)

    def score(self, batch: Batch) -> Array:
        return np.asarray(batch.outputs[self._surprisal] @ self.weights_)


class Snap(SinglePass):
    """U by the map of the options; `auto` stands for the one that it takes on the dev data of the
    first fit. distance_: to the classes, where the network does not show it itself."""

    source = _SOURCE
    learns_shift = True
    distance_: Mahalanobis | None = None

    def __init__(
        self,
        name: str,
        options: CalibrateOptions,
        surprisal: str = SURPRISAL,
        tap: str = "",
        tuning: Tuning | None = None,
        source: str = _SOURCE,
    ) -> None:
        """tap: the last one, whose pooled channels distances look at. tuning: how the map of the
        options was chosen, if it was."""
        self.name, self.options, self.tuning_ = name, options, tuning
        self.source = source
        self._surprisal, self._tap = surprisal, tap

    def fit(self, train: Batch, dev: Dev) -> None:
        self.map_ = self._map(self._conditions(train, dev, self.options.wants_distances))
        self.options = self.options.with_map(self.map_.kind)

    def _conditions(self, train: Batch, dev: Dev, distances: bool) -> Conditions:
        """Dev data as maps see them, once all is fitted that features need. distances: whether to
        the classes as well, where the network shows what they are measured on."""
        clean = dev.clean
        self.temperature_ = fit_temperature(clean.logits, clean.y)
        surprisal = self._surprisals(clean)
        taps = surprisal.shape[1]
        self.weights_ = tap_weights(surprisal, self.options.weights) if taps else np.zeros(0)
        shown = DISTANCE in train.outputs or self._tap not in train.outputs
        if distances and not shown:
            classes = train.logits.shape[1]
            self.distance_ = fit_mahalanobis(train.outputs[self._tap], train.y, classes)
        corrupted = {key: self._condition(batch) for key, batch in dev.corrupted.items()}
        return Conditions(self._condition(clean), corrupted)

    def _map(self, dev: Conditions) -> Map:
        if self.options.map != "auto":
            return fit_map(self.options.map, dev, dev.types(), self.options.fit)
        choice = choose_map("auto", dev, how=self.options.fit)
        if choice.dev:
            kind = choice.map.kind
            auroc = choice.dev[kind].pooled.auroc
            self.tuning_ = Tuning({"map": list(BY_PREFERENCE)}, {"map": kind}, BY_AUROC, auroc)
        return choice.map

    def score(self, batch: Batch) -> Array:
        return self.map_.rank(self._features(batch))

    def uncertainty(self, batch: Batch) -> Array | None:
        """A percentile of clean data is not a probability of error."""
        return None if self.options.map == "percentile" else self.map_(self._features(batch))

    def probabilities(self, batch: Batch) -> Array:
        """The answer gets 1 - U; the other classes share U as the softmax has it."""
        answers, rows = self.answers(batch), np.arange(len(batch))
        others = softmax(batch.logits, self.temperature_)
        others[rows, answers] = 0.0
        total = others.sum(axis=-1, keepdims=True)
        even = 1.0 / (others.shape[1] - 1)
        posterior = np.divide(others, total, out=np.full_like(others, even), where=total > 0)
        wrong = self.uncertainty(batch)
        if wrong is None:  # then the softmax alone says how likely an error is
            wrong = expit(error_logit(batch.logits, self.temperature_))
        posterior = posterior * wrong[:, None]
        posterior[rows, answers] = 1.0 - wrong
        return posterior

    def _condition(self, batch: Batch) -> Condition:
        wrong = self.answers(batch) != batch.y
        return Condition(self._features(batch), wrong, error_logit(batch.logits, 1.0))

    def _features(self, batch: Batch) -> Features:
        surprisal, distances = self._surprisals(batch), self._distances(batch)
        return Features(
            surprisal @ self.weights_,
            error_logit(batch.logits, self.temperature_),
            doubt(batch.logits, self.temperature_, self.options.alpha),
            surprisal,
            self.answers(batch),
            batch.logits.shape[1],
            self._third(batch, distances),
            distances,
        )

    def _surprisals(self, batch: Batch) -> Array:
        """[n, taps]; none where the monitor does without heads."""
        surprisal = batch.outputs[self._surprisal]
        return surprisal[:, :0] if self.options.taps == NO_TAPS else surprisal

    def _distances(self, batch: Batch) -> Array | None:
        if self.distance_ is not None:
            pooled, answers = batch.outputs[self._tap], self.answers(batch)
            return self.distance_.to_answer_and_next(pooled, answers)
        return batch.outputs.get(DISTANCE)

    def _third(self, batch: Batch, distances: Array | None) -> Array | None:
        if self.options.third == NO_THIRD:
            return None
        if self.options.third == ENERGY:
            return energy(batch.logits, self.temperature_)
        assert distances is not None
        return log_of(distances.min(axis=-1))


class Unblended(Snap):
    """U by S alone: the map is not told how sure the softmax is."""

    def _features(self, batch: Batch) -> Features:
        nothing = np.zeros(len(batch))
        return replace(super()._features(batch), error_logit=nothing, doubt=nothing)


class DeployedSnap(Snap):
    """U as the device sends it, by the map that was deployed."""

    # Nothing of U is fitted here.
    learns_shift = False

    def fit(self, train: Batch, dev: Dev) -> None:
        """The temperature alone, by which the other classes share U."""
        self.temperature_ = fit_temperature(dev.clean.logits, dev.clean.y)

    def score(self, batch: Batch) -> Array:
        return batch.outputs[UNCERTAINTY]

    def uncertainty(self, batch: Batch) -> Array | None:
        return None if self.options.map == "percentile" else self.score(batch)


class Foreign(Snap):
    """F: not whether the answer is wrong but whether the input is foreign."""

    # Its slopes come from clean data; what is shifted only says which inputs it reads.
    learns_shift = False

    def fit(self, train: Batch, dev: Dev) -> None:
        on_dev = self._conditions(train, dev, distances=True)
        shifted = [condition.features for condition in on_dev.strongest()]
        self.map_, _ = fit_foreign(on_dev.clean.features, shifted)

    def uncertainty(self, batch: Batch) -> Array | None:
        """F is a rank among clean data."""
        return None


class DeployedForeign(SinglePass):
    """F as the device sends it."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source

    def score(self, batch: Batch) -> Array:
        return batch.outputs[FOREIGN]
