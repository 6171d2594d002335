"""Confidence ranks, and what is unusual comes on top: temperature, gated, gated-taps."""

from dataclasses import dataclass

import numpy as np

from snapcli.array import Array, Bools
from snapcli.score.maps.features import Features
from snapcli.score.maps.regression import regress, sigmoid

SCORE, THIRD, OWN = "score", "third", "own distance"
_TAP = "tap "
# The share of clean dev data for which a gate is closed.
USUAL = 0.9


def tap_input(index: int) -> str:
    return f"{_TAP}{index}"


def tap_of(name: str) -> int | None:
    """The index of the tap that a gate reads, None if it reads something else."""
    return int(name.removeprefix(_TAP)) if name.startswith(_TAP) else None


@dataclass(frozen=True)
class Gate:
    """slope max(0, x - theta); input: ln S ("score"), ln e of a tap ("tap 0"), "third", or
    ln d of the answered class ("own distance")."""

    input: str
    slope: float
    theta: float


@dataclass(frozen=True)
class GatedMap:
    """U = sigmoid(b0 + b2 error_logit + sum over gates of slope max(0, x - theta)).

    A gate speaks only above theta, the usual range on clean data; where all are closed,
    confidence alone ranks. Without gates, b0 = 0 and b2 = 1 it is 1 - max p.

    Worked example, for two answers with p = 0.9. The usual surprise, ln S = 0.3, is below theta and
    leaves 1 - p; the other, ln S = 1.5, adds 2 (1.5 - 0.5) to the error logit of -2.2:

    >>> u = GatedMap("gated", b0=0.0, b2=1.0, gates=(Gate(SCORE, slope=2.0, theta=0.5),))
    >>> score, error_logit = np.exp([0.3, 1.5]), np.full(2, np.log(0.1 / 0.9))
    >>> answer, surprisal = np.zeros(2, int), score[:, None]
    >>> u(Features(score, error_logit, error_logit, surprisal, answer, classes=2)).round(2)
    array([0.1 , 0.45])
    """

    kind: str
    b0: float
    b2: float
    gates: tuple[Gate, ...]

    def __call__(self, features: Features) -> Array:
        return sigmoid(self.rank(features))

    def rank(self, features: Features) -> Array:
        """The logit of U, which still tells inputs apart where U has rounded to 1."""
        t = self.b0 + self.b2 * features.error_logit
        for gate in self.gates:
            t = t + gate.slope * np.maximum(0.0, _input(features, gate.input) - gate.theta)
        return t


def temperature() -> GatedMap:
    """U = 1 - max p at the fitted temperature; there is nothing to fit."""
    return GatedMap("temperature", 0.0, 1.0, ())


def fit_gated(
    features: Features,
    wrong: Bools,
    clean: Bools,
    balanced: bool,
    per_tap: bool,
) -> GatedMap:
    """One gate for S or one per tap, and one for the third input if there is one.

    A gate that would lower U, or says nothing, is left out: the device need not compute it.
    """
    taps = features.surprisal.shape[1]
    names = [tap_input(i) for i in range(taps)] if per_tap else [SCORE]
    names += [THIRD] if features.third is not None else []
    inputs = [_input(features, name) for name in names]
    thetas = [float(np.quantile(x[clean], USUAL)) for x in inputs]
    excess = [np.maximum(0.0, x - theta) for x, theta in zip(inputs, thetas, strict=True)]
    b0, (b2, *slopes) = regress([features.error_logit, *excess], wrong, balanced)
    gates = tuple(Gate(*parts) for parts in zip(names, slopes, thetas, strict=True) if parts[1] > 0)
    return GatedMap("gated-taps" if per_tap else "gated", b0, b2, gates)


def _input(features: Features, name: str) -> Array:
    if name == THIRD:
        assert features.third is not None
        return features.third
    if name == OWN:
        return features.log_own()
    tap = tap_of(name)
    return features.log_score() if tap is None else features.log_surprisal()[:, tap]
