"""lambda_ss that follows the gradients: the heads' pull on the backbone stays a small share.

rho = lambda |grad L_ss| / |grad L_clf| over the backbone's variables is kept in BAND; the ratio of
the norms is a moving average, and each measurement moves lambda by at most STEP.
"""

import numpy as np

from snapcli.array import Array

BAND = (0.05, 0.2)
# Steps of training between two measurements: each costs a second backward pass.
EVERY = 16
_DECAY = 0.8
_STEP = 1.5
_RANGE = (1e-6, 10.0)


class AdaptiveLambda:
    def __init__(self, start: float) -> None:
        self.value = start
        # |grad L_ss| / |grad L_clf|; nan before the first measurement.
        self.ratio = float("nan")

    @property
    def rho(self) -> float:
        return self.value * self.ratio

    def update(self, ratio: float) -> None:
        """ratio: measured on one batch; nan (no gradient at all) is left out."""
        if not (np.isfinite(ratio) and ratio > 0):
            return
        first = np.isnan(self.ratio)
        self.ratio = ratio if first else _DECAY * self.ratio + (1 - _DECAY) * ratio
        wanted = np.clip(self.value, BAND[0] / self.ratio, BAND[1] / self.ratio)
        moved = self.value * np.clip(wanted / self.value, 1 / _STEP, _STEP)
        self.value = float(np.clip(moved, *_RANGE))

    def state(self) -> list[float]:
        return [self.value, self.ratio]

    def restore(self, state: Array) -> None:
        """Raises ValueError for what state() cannot have given."""
        value, ratio = map(float, state)
        if not (0 <= value <= _RANGE[1] and (np.isnan(ratio) or ratio > 0)):
            raise ValueError(f"adaptive is {value}, {ratio}")
        self.value, self.ratio = value, ratio
