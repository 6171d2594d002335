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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from snapcli.array import Bools
from snapcli.fleet.sums import Grouping, Ints, Sums

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

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """share [n, 2, 16], and the independent frames behind it, [n, 2]."""

    share: Floats
    weight: Floats

    def at(self, rows: NDArray) -> "Reference":
        return Reference(self.share[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class Drift:
    """Each [n, 2], by U and by F. limit: the most that chance and what is usual explain, nan where
    nothing can be said."""

    psi: Floats
    limit: Floats

    @property
    def found(self) -> Bools:
        return np.asarray(self.psi > self.limit)


def scatter(sums: Sums) -> Floats:
    """[n] groups -> [n, 2]: how many times more the histograms of a group's records vary than those
    of independent frames would; nan with a single record."""
    bins, frames = sums.bins.astype(float), sums.frames.astype(float)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(bins > 0, sums.squares * frames / bins - bins, 0.0).sum(axis=2)
        freedom = (sums.filled[:, None] - 1) * ((bins > 0).sum(axis=2) - 1)
        return np.where(freedom > 0, spread / freedom, np.nan)


def dependence(own: Floats, cohorts: Grouping, whole: Floats) -> Floats:
    """own [n, 2]: scatter of units; whole [cohorts, 2]: of all records of a cohort -> [n, 2]: how
    many frames tell as much as one. That of the unit itself or, where it is more, of three quarters
    of its cohort; of all records, where no unit has two."""
    usual = ranked(own, cohorts, _QUANTILE)
    usual = np.where(np.isnan(usual), whole, usual)
    return np.fmax(np.fmax(own, usual[cohorts.of]), 1.0)


def others(sums: Sums, depends: Floats, cohorts: Grouping, counts: Bools) -> Reference:
    """Of each unit: the others of its cohort that count [n], none of them for more frames than the
    median one has, so that a single device is not the reference of all."""
    frames = sums.frames.astype(float)
    usual = ranked(np.where(counts, frames, np.nan)[:, None], cohorts)[cohorts.of, 0]
    weight = np.where(counts, np.minimum(frames, usual), 0.0)
    share = sums.bins / np.maximum(frames, 1.0)[:, None, None]
    parts = weight[:, None, None] * share
    rest = np.maximum(cohorts.sum(weight)[cohorts.of] - weight, 0.0)
    total = np.maximum(cohorts.sum(parts)[cohorts.of] - parts, 0.0)
    effective = np.where(counts[:, None], weight[:, None] / depends, 0.0)
    known = np.where(rest > 0, 1.0, np.nan)[:, None]
    left = np.maximum(cohorts.sum(effective)[cohorts.of] - effective, 1e-9)
    return Reference(total / np.maximum(rest, 1.0)[:, None, None], left * known)


def compared(bins: Ints, depends: Floats, reference: Reference) -> tuple[Floats, Floats]:
    """bins [n, 2, 16] -> (PSI, the most that chance gives), both [n, 2]."""
    frames = bins.sum(axis=2) / depends
    n, m = frames[..., None], reference.weight[..., None]
    spread = 1.0 / bins.shape[2]
    r = (reference.share * m + spread) / (m + 1.0)
    p = (bins / depends[..., None] + _PRIOR * r) / (n + _PRIOR)
    psi = ((p - r) * np.log(p / r)).sum(axis=2)
    used = ((bins > 0) | (reference.share > 0)).sum(axis=2)
    chance = chdtri(np.maximum(used - 1, 1), _CHANCE) * (
        1.0 / np.maximum(frames, 1.0) + 1.0 / reference.weight
    )
    return psi, chance


def judged(
    bins: Ints, depends: Floats, reference: Reference, cohorts: Grouping, peers: Bools
) -> Drift:
    """Units [n] by what is usual among the peers [n] of their cohort."""
    psi, chance = compared(bins, depends, reference)
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
