"""Whether the inputs of some records differ from those of others by more than chance and the usual
differences explain.

A unit is a device in a week, or a day. Its histograms of U and of F are compared with a reference
by the population stability index (PSI), the sum of (p - r) ln(p / r) over the bins; 0.1 is read as
a moderate and 0.25 as a large shift. It says how large a shift is, not how sure, so three things
keep it honest:

- Frames depend on each other. How many count as one is measured: by how much more a device's
  records scatter than independent frames would.
- It has to be above 0.1 by more than chance alone gives once in a million units.
- It has to stand out among its peers: its root above the median of theirs by six times their
  median deviation, and by more where they are few. Where every device sees another scene, that is
  a lot.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from snapcli.array import Bools
from snapcli.fleet.sums import SIGNALS, Grouping, Ints

FLOOR = 0.1
ALONE = 0.25  # where there are no peers to say what is usual
LEAST_FRAMES = 500
LEAST_PEERS = 5
_CHANCE = 1e-6
_DEVIATIONS = 6.0
# Of few peers the median deviation is itself uncertain: twice as many of it for six peers.
_FEW = 6.0
_TO_SIGMA = 1.4826
# A histogram counts as its own and as so many frames of the reference: else an empty bin, which a
# few frames leave, would tell of a shift.
_PRIOR = 16.0
_QUANTILE = 0.75
_SLICE = 1 << 14  # units at once, to bound the memory

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """Of units [n]: the others of their cohorts, each of which counts for some of its frames.
    independent [n, 2]: as many frames tell as much as all of it; nan where there are no others."""

    independent: Floats
    _bins: Ints
    _counted: Floats  # of each of a unit's frames
    _cohort: Ints
    _totals: Floats  # [cohorts, 2, 16]

    def share(self, rows: Ints) -> Floats:
        """[rows, 2, 16]"""
        own = self._bins[rows] * self._counted[rows, None, None]
        others = np.maximum(self._totals[self._cohort[rows]] - own, 0.0)
        return others / np.maximum(others.sum(axis=2, keepdims=True), 1e-9)


@dataclass(frozen=True, eq=False)
class Drift:
    """Each [n, 2], by U and by F. limit: the most that chance and what is usual explain, nan where
    nothing can be said."""

    psi: Floats
    limit: Floats

    @property
    def found(self) -> Bools:
        return np.asarray(self.psi > self.limit)


def dependence(own: Floats, cohorts: Grouping, whole: Floats) -> Floats:
    """own [n, 2]: scatter of units; whole [cohorts, 2]: of all records of a cohort -> [n, 2]: how
    many frames tell as much as one. That of the unit itself or, where it is more, of three quarters
    of its cohort; of all records, where no unit has two."""
    usual = ranked(own, cohorts, _QUANTILE)
    usual = np.where(np.isnan(usual), whole, usual)
    return np.fmax(np.fmax(own, usual[cohorts.of]), 1.0)


def others(bins: Ints, depends: Floats, cohorts: Grouping, counts: Bools) -> Reference:
    """Of each unit: the others of its cohort that count [n], none of them for more frames than the
    median one has, so that a single device is not the reference of all."""
    frames = bins[:, 0].sum(axis=1).astype(float)
    usual = ranked(np.where(counts, frames, np.nan)[:, None], cohorts)[cohorts.of, 0]
    weight = np.where(counts, np.minimum(frames, usual), 0.0)
    counted = weight / np.maximum(frames, 1.0)
    totals = np.empty((len(cohorts.starts), *SIGNALS))
    for column in np.ndindex(SIGNALS):
        totals[:, *column] = cohorts.sum(bins[:, *column] * counted)
    own = weight[:, None] / depends
    rest = cohorts.sum(own)[cohorts.of] - own
    # What is left of a sum from which all of it was taken is not quite 0.
    is_alone = cohorts.sum(counts.astype(np.int64))[cohorts.of] - counts == 0
    independent = np.where(is_alone[:, None], np.nan, rest)
    return Reference(independent, bins, counted, cohorts.of, totals)


def compared(
    bins: Ints, depends: Floats, share: Callable[[Ints], Floats], independent: Floats
) -> tuple[Floats, Floats]:
    """bins [n, 2, 16]; share(rows) and independent as of a reference -> (PSI, the most that chance
    gives), both [n, 2]."""
    psi, used = np.empty((2, len(bins), SIGNALS[0]))
    frames = bins.sum(axis=2) / depends
    for start in range(0, len(bins), _SLICE):
        rows = np.arange(start, min(start + _SLICE, len(bins)))
        r, m = share(rows), independent[rows, :, None]
        used[rows] = ((bins[rows] > 0) | (r > 0)).sum(axis=2)
        r = (r * m + 1.0 / SIGNALS[1]) / (m + 1.0)
        own = bins[rows] / depends[rows, :, None]
        p = (own + _PRIOR * r) / (frames[rows, :, None] + _PRIOR)
        psi[rows] = ((p - r) * np.log(p / r)).sum(axis=2)
    chance = chdtri(np.maximum(used - 1, 1), _CHANCE)
    return psi, chance * (1.0 / np.maximum(frames, 1.0) + 1.0 / independent)


def judged(
    bins: Ints, depends: Floats, reference: Reference, cohorts: Grouping, peers: Bools
) -> Drift:
    """Units [n] by what is usual among the peers [n] of their cohort."""
    psi, chance = compared(bins, depends, reference.share, reference.independent)
    count = cohorts.sum(peers.astype(np.int64))[cohorts.of]
    enough = (count >= LEAST_PEERS) & (bins[:, 0].sum(axis=1) >= LEAST_FRAMES)
    root = np.where(peers[:, None], np.sqrt(psi), np.nan)
    centre = ranked(root, cohorts)[cohorts.of]
    deviation = ranked(np.abs(root - centre), cohorts)[cohorts.of]
    deviations = _DEVIATIONS * (1.0 + _FEW / np.maximum(count, 1))[:, None]
    usual = (centre + deviations * _TO_SIGMA * deviation) ** 2
    return Drift(psi, np.where(enough[:, None], np.maximum(usual, FLOOR + chance), np.nan))


def ranked(values: Floats, groups: Grouping, share: float = 0.5) -> Floats:
    """[rows, k] -> [groups, k]: the value below which that share of a group lies, nan left aside;
    nan where nothing else is."""
    known = groups.sum((~np.isnan(values)).astype(np.int64))
    place = groups.starts[:, None] + np.rint(share * np.maximum(known - 1, 0)).astype(np.int64)
    # Values in ascending order within each group, those that are not known last.
    columns = [
        column[np.lexsort([column, groups.of])][rows]
        for column, rows in zip(values.T, place.T, strict=True)
    ]
    return np.stack(columns, axis=1)
