"""The last layer of a classifier, for methods that compute logits from changed features."""

from dataclasses import dataclass

from snapcli.baselines.method import Array


@dataclass(frozen=True, eq=False)
class LastLayer:
    """weights [features, classes], bias [classes]; largest: what a feature can be at most, which
    has an end in int8."""

    weights: Array
    bias: Array
    largest: float = float("inf")

    def logits(self, features: Array) -> Array:
        """[n, features] -> [n, classes]."""
        return features @ self.weights + self.bias
