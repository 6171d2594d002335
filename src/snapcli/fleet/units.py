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
)
from snapcli.fleet.sums import NO_DAY, Cells, Grouping, Ints, Sums, grouped

WEEK = 7
_LEAST_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Devices:
    """Each device with each build, [n], in that order. since, until: its first and last day beyond
    the limit, NO_DAY where that is not known; lasts: whether its last week is among them. drift: of
    its worst week; worst [n]: which one that is of the weeks that week_bins and reference have."""

    device: NDArray[np.uint64]
    build: Ints
    sums: Sums
    drift: Drift
    found: Bools
    since: Ints
    until: Ints
    lasts: Bools
    worst: Ints
    week_bins: Ints
    reference: Reference


def devices_of(cells: Cells) -> Devices:
    """A device is compared with the others of its build in the same week: what befalls all of them
    is told by the days."""
    devices = grouped(cells.device, cells.build)
    build = cells.build[devices.first]
    depends = dependence(cells.scatter_of_devices, grouped(build), cells.scatter_of_builds)
    week_of = _weeks(cells)
    weeks = grouped(devices.of, week_of)
    owner, week = devices.of[weeks.first], week_of[weeks.first]
    bins = weeks.sum(cells.bins)
    cohorts = grouped(build[owner], week)
    counts = weeks.sum(cells.sums.frames) >= LEAST_FRAMES
    reference = others(bins, depends[owner], cohorts, counts)
    drift = judged(bins, depends[owner], reference, cohorts, counts)

    by_owner = grouped(owner)
    found = np.asarray(drift.found.any(axis=1))
    worst = _largest(_excess(drift), by_owner)
    # Within a week that drifts, the days that do so by themselves; where none has the frames for
    # it, all days of that week.
    inside = np.flatnonzero(found[weeks.of])
    week_of_day = weeks.of[inside]
    psi, _ = compared(
        cells.bins[inside],
        depends[devices.of[inside]],
        lambda rows: reference.share(week_of_day[rows]),
        reference.independent[week_of_day],
    )
    alone = np.asarray((psi > drift.limit[week_of_day]).any(axis=1))
    alone &= cells.sums.frames[inside] >= LEAST_FRAMES
    days_alone = np.bincount(week_of_day, alone, len(owner))[week_of_day]
    drifting = np.zeros(len(cells.day), bool)
    drifting[inside] = (alone | (days_alone == 0)) & (cells.day[inside] != NO_DAY)
    far = np.iinfo(np.int64).max
    since = np.minimum.reduceat(np.where(drifting, cells.day, far)[devices.order], devices.starts)
    until = np.maximum.reduceat(np.where(drifting, cells.day, -1)[devices.order], devices.starts)
    # Weeks are in order, so the last that is judged is the largest index.
    known = np.where(np.isnan(drift.limit[:, 0]), -1, np.arange(len(owner)))
    last = np.maximum.reduceat(known[by_owner.order], by_owner.starts)
    return Devices(
        device=cells.device[devices.first],
        build=build,
        sums=cells.sums.by(devices),
        drift=Drift(drift.psi[worst], drift.limit[worst]),
        found=by_owner.sum(found.astype(np.int64)) > 0,
        since=np.where(since == far, NO_DAY, since),
        until=until,
        lasts=found[last],
        worst=worst,
        week_bins=bins,
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
    """A day is compared with the build's first week: its first seven days that count, of which each
    is compared with the others. A day does that has a tenth of the usual frames: few devices whose
    clocks are wrong are not the beginning of all."""
    days = grouped(cells.build, cells.day)
    sums = cells.sums.by(days)
    build, day = cells.build[days.first], cells.day[days.first]
    builds = grouped(build)
    has_enough = (sums.frames >= LEAST_FRAMES) & (day != NO_DAY)
    usual = ranked(np.where(has_enough, sums.frames, np.nan)[:, None], builds)[builds.of, 0]
    counts = has_enough & (sums.frames >= _LEAST_SHARE * usual)
    # Days are in order: how many that count came before, within the build.
    before = np.asarray(np.cumsum(counts) - counts)
    before -= before[builds.starts][builds.of]
    first_week = counts & (before < WEEK)
    depends = np.fmax(cells.scatter_of_builds[build], 1.0)
    bins = days.sum(cells.bins)
    reference = others(bins, depends, builds, first_week)
    drift = judged(bins, depends, reference, builds, first_week)
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
    depends = np.fmax(cells.scatter_of_builds, 1.0)[order]
    bins, frames = builds.sum(cells.bins)[order], np.maximum(sums.frames[order], 1)
    before = np.maximum(np.arange(len(order)) - 1, 0)
    psi, chance = compared(
        bins,
        depends,
        lambda rows: bins[before[rows]] / frames[before[rows], None, None],
        (frames[:, None] / depends)[before],
    )
    comparable = (last[order] != NO_DAY) & (frames >= LEAST_FRAMES)
    comparable &= comparable[before]
    comparable &= first[order] > first[order][before]
    limit = np.where(comparable[:, None], ALONE + chance, np.nan)
    pairs = grouped(cells.build, cells.device)
    devices = np.bincount(cells.build[pairs.first], minlength=len(first))
    drift = Drift(psi, limit)
    return Builds(order, first[order], last[order], sums.at(order), devices[order], drift)


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
