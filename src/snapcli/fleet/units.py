"""The units that are compared: each device in each week, each day, each build."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.fleet.drift import (
    ALONE,
    LEAST_FRAMES,
    Drift,
    Floats,
    Reference,
    compared,
    dependence,
    judged,
    others,
    ranked,
    scatter,
)
from snapcli.fleet.sums import NO_DAY, Cells, Grouping, Ints, Sums, grouped

WEEK = 7


@dataclass(frozen=True, eq=False)
class Devices:
    """Each device with each build, [n], in that order. drift: of its worst week; worst [n]: which
    of `weeks` that is. since, until: its first and last day beyond the limit, NO_DAY where that is
    not known; lasts: whether its last week is among them."""

    device: NDArray[np.uint64]
    build: Ints
    sums: Sums
    drift: Drift
    found: Bools
    since: Ints
    until: Ints
    lasts: Bools
    worst: Ints
    weeks: Sums
    reference: Reference


def devices_of(cells: Cells) -> Devices:
    """A device is compared with the others of its build in the same week: what befalls all of them
    is told by the days."""
    devices = grouped(cells.device, cells.build)
    sums = cells.sums.by(devices)
    build = cells.build[devices.first]
    depends = dependence(scatter(sums), grouped(build), _of_builds(cells))
    week_of = _weeks(cells)
    weeks = grouped(devices.of, week_of)
    owner, week = devices.of[weeks.first], week_of[weeks.first]
    of_weeks = cells.sums.by(weeks)
    cohorts = grouped(build[owner], week)
    counts = of_weeks.frames >= LEAST_FRAMES
    reference = others(of_weeks, depends[owner], cohorts, counts)
    drift = judged(of_weeks.bins, depends[owner], reference, cohorts, counts)

    by_owner = grouped(owner)
    found = np.asarray(drift.found.any(axis=1))
    worst = _largest(_excess(drift), by_owner)
    # Within a week that drifts, the days that do so by themselves; where none has the frames for
    # it, all days of that week.
    of_cell = weeks.of
    psi, _ = compared(cells.sums.bins, depends[devices.of], reference.at(of_cell))
    alone = np.asarray((psi > drift.limit[of_cell]).any(axis=1))
    alone &= (cells.sums.frames >= LEAST_FRAMES) & found[of_cell]
    days_alone = weeks.sum(alone.astype(np.int64))[of_cell]
    drifting = found[of_cell] & (alone | (days_alone == 0)) & (cells.day != NO_DAY)
    far = np.iinfo(np.int64).max
    since = np.minimum.reduceat(np.where(drifting, cells.day, far)[devices.order], devices.starts)
    until = np.maximum.reduceat(np.where(drifting, cells.day, -1)[devices.order], devices.starts)
    # Weeks are in order, so the last that is judged is the largest index.
    known = np.where(np.isnan(drift.limit[:, 0]), -1, np.arange(len(owner)))
    last = np.maximum.reduceat(known[by_owner.order], by_owner.starts)
    return Devices(
        device=cells.device[devices.first],
        build=build,
        sums=sums,
        drift=Drift(drift.psi[worst], drift.limit[worst]),
        found=by_owner.sum(found.astype(np.int64)) > 0,
        since=np.where(since == far, NO_DAY, since),
        until=until,
        lasts=(last >= 0) & found[last],
        worst=worst,
        weeks=of_weeks,
        reference=reference,
    )


@dataclass(frozen=True, eq=False)
class Days:
    """Each day of each build, [n], in order; low, high [n]: estimated accuracy below which a tenth
    of the devices lie, and above which another does."""

    build: Ints
    day: Ints
    sums: Sums
    devices: Ints
    low: Floats
    high: Floats
    drift: Drift


def days_of_builds(cells: Cells) -> Days:
    """A day is compared with the build's first week: its first seven days with enough frames, of
    which each is compared with the others."""
    days = grouped(cells.build, cells.day)
    sums = cells.sums.by(days)
    build, day = cells.build[days.first], cells.day[days.first]
    counts = (sums.frames >= LEAST_FRAMES) & (day != NO_DAY)
    builds = grouped(build)
    # Days are in order: how many that count came before, within the build.
    before = np.asarray(np.cumsum(counts) - counts)
    before -= before[builds.starts][builds.of]
    first_week = counts & (before < WEEK)
    depends = np.fmax(_of_builds(cells)[build], 1.0)
    reference = others(sums, depends, builds, first_week)
    drift = judged(sums.bins, depends, reference, builds, first_week)
    drift.limit[day == NO_DAY] = np.nan
    accuracy = cells.sums.accuracy[:, None]
    low, high = (ranked(accuracy, days, share)[:, 0] for share in (0.1, 0.9))
    return Days(build, day, sums, days.sizes, low, high, drift)


@dataclass(frozen=True, eq=False)
class Builds:
    """Each build, [n], by the first day on which it was seen."""

    order: Ints
    first: Ints
    last: Ints
    sums: Sums
    devices: Ints
    drift: Drift


def builds_of(cells: Cells) -> Builds:
    """A build is compared with the one that began before it. There are no peers that say what is
    usual, so the shift has to be large."""
    builds = grouped(cells.build)
    sums = cells.sums.by(builds)
    known = np.where(cells.day == NO_DAY, np.iinfo(np.int64).max, cells.day)
    first = np.minimum.reduceat(known[builds.order], builds.starts)
    last = np.maximum.reduceat(cells.day[builds.order], builds.starts)
    order = np.lexsort([np.arange(len(first)), first])
    depends = np.fmax(_of_builds(cells), 1.0)[order]
    bins, frames = sums.bins[order], sums.frames[order]
    before = np.maximum(np.arange(len(order)) - 1, 0)
    share = bins / np.maximum(frames, 1)[:, None, None]
    reference = Reference(share, np.maximum(frames, 1)[:, None] / depends).at(before)
    psi, chance = compared(bins, depends, reference)
    comparable = (last[order] != NO_DAY) & (frames >= LEAST_FRAMES)
    comparable &= comparable[before]
    comparable &= first[order] > first[order][before]
    limit = np.where(comparable[:, None], ALONE + chance, np.nan)
    pairs = grouped(cells.build, cells.device)
    devices = np.bincount(cells.build[pairs.first], minlength=len(first))
    drift = Drift(psi, limit)
    return Builds(order, first[order], last[order], sums.at(order), devices[order], drift)


def _of_builds(cells: Cells) -> Floats:
    """[builds, 2]: scatter of all records of a build."""
    return scatter(cells.sums.by(grouped(cells.build)))


def _weeks(cells: Cells) -> Ints:
    """[cells], counted from the first day of the build; those without a clock are one by
    themselves."""
    builds = grouped(cells.build)
    known = np.where(cells.day == NO_DAY, np.iinfo(np.int64).max, cells.day)
    first = np.minimum.reduceat(known[builds.order], builds.starts)[builds.of]
    return np.where(cells.day == NO_DAY, NO_DAY, (cells.day - first) // WEEK)


def _excess(drift: Drift) -> Floats:
    """[n]: the PSI in limits; -1 where nothing can be said."""
    return np.nan_to_num(np.max(drift.psi / drift.limit, axis=1), nan=-1.0)


def _largest(values: Floats, groups: Grouping) -> Ints:
    """The row with the largest value of each group."""
    order = np.lexsort([values, groups.of])
    return np.asarray(order[groups.starts + groups.sizes - 1])
