"""From values to places on an axis."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scale:
    """Linear: low is drawn at start, high at end."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def clipped(self, value: float) -> float:
        return self(min(max(value, self.low), self.high))

    def ticks(self, about: int = 6) -> list[float]:
        """Round values inside, about so many at most."""
        step = _round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]


def _round_step(step: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below it."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return min(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def around(values: list[float], least: float = 0.0) -> tuple[float, float]:
    """(low, high) with a margin of 6 %, at least so wide; (0, 1) for nothing."""
    finite = np.array([v for v in values if math.isfinite(v)])
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    margin = max(0.06 * (high - low), (least - (high - low)) / 2, 1e-9)
    return low - margin, high + margin
