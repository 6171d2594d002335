"""The paper's map: logistic, and logistic-s without m."""

from dataclasses import dataclass

from snapcli.array import Array, Bools
from snapcli.score.maps.features import Features
from snapcli.score.maps.regression import regress, sigmoid


@dataclass(frozen=True)
class LogisticMap:
    """U = sigmoid(b0 + b1 S + b2 m)."""

    kind: str
    b0: float
    b1: float
    b2: float

    def __call__(self, features: Features) -> Array:
        return sigmoid(self.rank(features))

    def rank(self, features: Features) -> Array:
        """The logit of U, which still tells inputs apart where U has rounded to 1."""
        return self.b0 + self.b1 * features.score + self.b2 * features.doubt


def fit_logistic(features: Features, wrong: Bools, balanced: bool, with_doubt: bool) -> LogisticMap:
    if with_doubt:
        b0, (b1, b2) = regress([features.score, features.doubt], wrong, balanced)
        return LogisticMap("logistic", b0, b1, b2)
    b0, (b1,) = regress([features.score], wrong, balanced)
    return LogisticMap("logistic-s", b0, b1, 0.0)
