"""A moving average of weights: what is kept in the end instead of the last step's."""

from typing import Any


class WeightAverage:
    """Of variables that are given anew for every step, always in the same order."""

    def __init__(self, variables: list[Any], decay: float) -> None:
        import tensorflow as tf

        self.decay = decay
        self.variables = [tf.Variable(v, trainable=False) for v in variables]

    def decay_at(self, step: int) -> float:
        """Less at first: the weights of the beginning are soon forgotten."""
        return min(self.decay, (1 + step) / (10 + step))

    def update(self, variables: list[Any], decay: Any) -> None:
        for average, variable in zip(self.variables, variables, strict=True):
            average.assign_add((1 - decay) * (variable - average))

    def assign_to(self, variables: list[Any]) -> None:
        for average, variable in zip(self.variables, variables, strict=True):
            variable.assign(average)
