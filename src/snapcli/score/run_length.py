"""How long an alarm stays silent on clean frames that are drawn independently (SPEC 1.9).

A statistic that depends on the past through its own value alone is a Markov chain. On a grid its
mean time to the threshold is the solution of a linear system (Brook and Evans, 1972). A step that
ends between two points of the grid goes to both, in the shares that keep its mean.
"""

import math
from collections.abc import Callable

import numpy as np

from snapcli.array import Array

FOREVER = 1e12
_POINTS = 200
_DEEP = 5.0  # deviations below its mean, where the grid of a mean begins
_LATTICE = 256  # steps between the least and the most evidence of a frame
Step = Callable[[Array, float], Array]
RunLength = Callable[[float], float]
"""Frames until the first alarm, on average, by the threshold."""


def of_sum(shares: Array, evidence: Array) -> RunLength:
    """Evidence in nats, [bins], of frames that fall into the bins in these shares; the sum starts
    at 0 and never falls below it."""

    def frames(threshold: float) -> float:
        def step(at: Array, earned: float) -> Array:
            return at + earned

        return _chain(step, shares, evidence, 0.0, threshold, 0.0)

    return frames


def of_mean(shares: Array, evidence: Array, memory: float) -> RunLength:
    """The statistic of a mean is its sum over about `memory` frames; it starts at its mean."""
    mean = float(shares @ evidence)
    start = memory * mean
    deviation = math.sqrt(memory / 2 * float(shares @ (evidence - mean) ** 2))
    low = max(memory * float(evidence.min()), start - _DEEP * deviation)

    def frames(threshold: float) -> float:
        def step(at: Array, earned: float) -> Array:
            return at - at / memory + earned

        return _chain(step, shares, evidence, low, threshold, start)

    return frames


def of_window(shares: Array, evidence: Array, window: int) -> RunLength:
    """A lower bound: a frame ends a window above the threshold with the probability q, so within
    t frames there is an alarm with at most t q, and the mean is at least 1 / (2 q)."""
    low, span = float(evidence.min()), float(np.ptp(evidence)) or 1.0
    one = np.zeros(_LATTICE + 2)
    place = (evidence - low) / span * _LATTICE
    whole = np.floor(place).astype(int)
    np.add.at(one, whole, shares * (1 - (place - whole)))
    np.add.at(one, whole + 1, shares * (place - whole))
    size = window * (len(one) - 1) + 1
    together = np.maximum(np.fft.irfft(np.fft.rfft(one, size) ** window, size), 0.0)
    above = np.cumsum(together[::-1])[::-1]
    total = window * low + np.arange(size) * span / _LATTICE

    def frames(threshold: float) -> float:
        first = int(np.searchsorted(total, threshold))
        q = above[first] if first < size else 0.0
        return min(1 / (2 * q), FOREVER) if q > 0 else FOREVER

    return frames


def threshold_for(run_length: RunLength, frames: float, low: float, high: float) -> float:
    """The least threshold in [low, high] with that run length, to 1 in 4096; high if none has."""
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if run_length(middle) >= frames else (middle, high)
    return high


def _chain(
    step: Step, shares: Array, evidence: Array, low: float, high: float, start: float
) -> float:
    if start >= high:
        return 0.0
    grid = np.linspace(low, high, _POINTS, endpoint=False)
    width = (high - low) / _POINTS
    moves = np.zeros((_POINTS, _POINTS + 2))
    rows = np.arange(_POINTS)
    for share, earned in zip(shares, evidence, strict=True):
        place = np.clip((step(grid, float(earned)) - low) / width, 0, _POINTS)
        whole = np.floor(place).astype(int)
        moves[rows, whole] += share * (1 - (place - whole))
        moves[rows, whole + 1] += share * (place - whole)
    stay = moves[:, :_POINTS]  # what goes beyond the last point is an alarm
    try:
        frames = np.linalg.solve(np.eye(_POINTS) - stay, np.ones(_POINTS))
    except np.linalg.LinAlgError:  # there are points without a way out
        return FOREVER
    # Beyond what double precision resolves the solution is noise, of either sign.
    settled = frames.min() > 0 and frames.max() < FOREVER
    return float(np.interp(start, grid, frames)) if settled else FOREVER
