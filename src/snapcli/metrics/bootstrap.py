"""Intervals by resampling.

A resample is a row of counts, how often each example was drawn. Every metric takes such rows as
weights [B, n] and gives [B], so that all replicates are computed at once. Two methods are compared
by the difference of their metrics under the same rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array

# No example is drawn 256 times: the odds are those of a Poisson count with mean 1.
Counts = NDArray[np.uint8]

# Weights that a metric sees at a time. Its temporaries, 2 MB each, stay near the processor.
_WEIGHTS_AT_ONCE = 2**18


@dataclass(frozen=True)
class Interval:
    """A figure and the 2.5 and 97.5 percentiles of its bootstrap; nan where it is undefined."""

    value: float
    low: float
    high: float


def interval(point: float, replicates: Array) -> Interval:
    """Of the finite replicates; without low and high if these are fewer than half of all."""
    finite = replicates[np.isfinite(replicates)]
    if np.isnan(point) or 2 * len(finite) < max(len(replicates), 1):
        return Interval(point, float("nan"), float("nan"))
    low, high = np.percentile(finite, (2.5, 97.5))
    return Interval(point, float(low), float(high))


def draw(count: int, replicates: int, seed: int) -> Counts:
    """[replicates, count]: examples drawn with replacement; every row sums to count."""
    return draw_blocks(count, 1, replicates, seed)


def draw_blocks(count: int, block: int, replicates: int, seed: int) -> Counts:
    """[replicates, count]: runs of `block` frames drawn with replacement, the last one cut so that
    every row sums to count. The frame after the last is the first: all are drawn equally often."""
    block = min(block, count)
    rng = np.random.default_rng(seed)
    lengths = np.full(-(-count // block), block)
    lengths[-1] = count - block * (len(lengths) - 1)
    counts = np.empty((replicates, count), np.uint8)
    for row in counts:
        first = rng.integers(0, count, len(lengths))
        edges = np.bincount(first, minlength=2 * count)
        edges -= np.bincount(first + lengths, minlength=2 * count)
        row[:] = np.cumsum(edges).reshape(2, count).sum(axis=0)
    return counts


def measured(
    metric: Callable[[NDArray[np.number]], Array], weights: NDArray[np.number]
) -> tuple[float, Array]:
    """The metric of the examples as they are, and of every replicate [B]."""
    points, replicates = measured_together(lambda rows: metric(rows)[None], weights)
    return float(points[0]), replicates[0]


def measured_together(
    metrics: Callable[[NDArray[np.number]], Array], weights: NDArray[np.number]
) -> tuple[Array, Array]:
    """([k], [k, B]) of a function that gives k metrics at once, [k, B]."""
    replicates, count = weights.shape
    step = max(1, _WEIGHTS_AT_ONCE // max(count, 1))
    parts = [metrics(weights[at : at + step]) for at in range(0, replicates, step)]
    points = metrics(np.ones((1, count), weights.dtype))
    return points[:, 0], np.concatenate([points[:, :0], *parts], axis=1)
