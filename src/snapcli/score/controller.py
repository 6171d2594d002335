"""The budget controller: a threshold that moves so that a given share of a stream abstains.

The fixed-point twin is fixedpoint/budget.py.
"""

from dataclasses import dataclass

import numpy as np

from snapcli.array import Array, Bools


@dataclass(frozen=True)
class Controller:
    """budget: the share that may abstain, [0, 1]; eta in (0, 1]: the weight of the newest decision
    in the running rate; kappa in (0, 1]: how far an excess of 1 moves the threshold."""

    budget: float
    eta: float
    kappa: float

    def run(self, uncertainty: Array, threshold: float) -> tuple[Bools, Array]:
        """U [n] in order, the first threshold -> abstain [n], the threshold after each [n]."""
        rate, threshold = 0.0, min(threshold, 1.0)
        abstain, thresholds = np.empty(len(uncertainty), bool), np.empty(len(uncertainty))
        for t, u in enumerate(uncertainty):
            abstain[t] = u >= threshold
            rate += self.eta * (abstain[t] - rate)
            threshold = min(max(threshold + self.kappa * (rate - self.budget), 0.0), 1.0)
            thresholds[t] = threshold
        return abstain, thresholds
