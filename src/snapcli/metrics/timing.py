"""What many timed runs of the same program say: mean, spread, percentiles, histogram."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

PERCENTILES = (50, 90, 95, 99)
MOST_BINS = 20


@dataclass(frozen=True)
class Histogram:
    """counts[i] values lie in [edges[i], edges[i + 1]); all bins are equally wide."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Timing:
    """Of one inference, in the unit of what was counted.

    percentiles: the smallest measured value that so many percent of all do not exceed.
    """

    mean: float
    deviation: float
    minimum: float
    maximum: float
    percentiles: dict[str, float]
    histogram: Histogram

    def scaled(self, factor: float) -> "Timing":
        """The same in another unit: counts to microseconds."""
        return replace(
            self,
            mean=self.mean * factor,
            deviation=self.deviation * factor,
            minimum=self.minimum * factor,
            maximum=self.maximum * factor,
            percentiles={name: value * factor for name, value in self.percentiles.items()},
            histogram=replace(
                self.histogram, edges=tuple(edge * factor for edge in self.histogram.edges)
            ),
        )


def timing(counts: NDArray[np.int64], step: int = 1) -> Timing:
    """counts [n], n > 0, each a multiple of the counter's step."""
    percentiles = np.percentile(counts, PERCENTILES, method="inverted_cdf")
    return Timing(
        mean=float(counts.mean()),
        deviation=float(counts.std()),
        minimum=int(counts.min()),
        maximum=int(counts.max()),
        percentiles={str(p): int(v) for p, v in zip(PERCENTILES, percentiles, strict=True)},
        histogram=histogram(counts, step),
    )


def histogram(counts: NDArray[np.int64], step: int = 1) -> Histogram:
    """At most MOST_BINS bins. Their width is a multiple of the step: with any other, bins would
    hold different numbers of possible values and show a comb that is not in the data."""
    low = int(counts.min())
    spread = int(counts.max()) - low
    width = step * (spread // (MOST_BINS * step) + 1)
    bins = spread // width + 1
    held = np.bincount((counts - low) // width, minlength=bins)
    edges = tuple(low + i * width for i in range(bins + 1))
    return Histogram(edges, tuple(held.tolist()))
