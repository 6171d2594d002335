"""Records merged: everything in one adds up, so sums of sums are those of the records."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint import TELEMETRY_NO_ALARM

Ints = NDArray[np.int64]
# A clock that shows less was never set: it counts from 1970 or 2000.
EARLIEST = 1_577_836_800  # 2020-01-01
NO_DAY = -1
SIGNALS = (2, 16)  # U and F, and the bins of each
_DAY = 86_400


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows with the same keys belong together. order [rows]: one that puts them side by side;
    starts [groups]: where in it each begins; of [rows]: the group of each row; first [groups]: a
    row of each."""

    order: Ints
    starts: Ints
    of: Ints
    first: Ints

    def sum(self, values: NDArray) -> NDArray:
        """[rows, ...] -> [groups, ...]"""
        summed = np.empty((len(self.starts), *values.shape[1:]), values.dtype)
        # Column by column: of a million histograms all at once would be a quarter of a gigabyte.
        for column in np.ndindex(values.shape[1:]):
            at = (slice(None), *column)
            summed[at] = np.add.reduceat(values[at][self.order], self.starts)
        return summed

    @property
    def sizes(self) -> Ints:
        return np.diff(np.append(self.starts, len(self.order)))


def grouped(*keys: NDArray) -> Grouping:
    """keys [rows] each, at least one row. Groups are in the order of their keys."""
    order = np.lexsort(keys[::-1])
    changes = np.ones(len(order), bool)
    if keys:
        changes[1:] = False
        for key in keys:
            changes[1:] |= key[order][1:] != key[order][:-1]
    starts = np.flatnonzero(changes)
    of = np.empty(len(order), np.int64)
    of[order] = np.cumsum(changes) - 1
    return Grouping(order, starts, of, order[starts])


@dataclass(frozen=True, eq=False)
class Sums:
    """Of groups of records, each [groups] and exact: 64 bits hold 2^32 records. watched: frames of
    records that kept an alarm."""

    records: Ints
    frames: Ints
    abstained: Ints
    foreign: Ints
    watched: Ints
    alarms: Ints
    alarm_frames: Ints
    uncertainty_q16: Ints

    def by(self, grouping: Grouping) -> "Sums":
        return Sums(*(grouping.sum(getattr(self, f.name)) for f in fields(self)))

    def at(self, rows: NDArray) -> "Sums":
        return Sums(*(getattr(self, f.name)[rows] for f in fields(self)))

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """What U says of it: 1 - mean U; nan without a frame."""
        return 1.0 - divided(self.uncertainty_q16, self.frames) / 65536


def divided(part: NDArray, whole: NDArray) -> NDArray[np.float64]:
    """nan where there is nothing to divide by."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Cells:
    """The records of one device with one build on one day are a cell. builds [builds, 2]: model id
    and settings check; build [cells]: which of them; day [cells]: since 1970, or NO_DAY. bins
    [cells, 2, 16]: frames by U and by F. scatter of the records of each device with each build,
    [devices, 2], in that order, and of those of each build, [builds, 2]."""

    builds: NDArray[np.uint64]
    device: NDArray[np.uint64]
    build: Ints
    day: Ints
    sums: Sums
    bins: Ints
    scatter_of_devices: NDArray[np.float64]
    scatter_of_builds: NDArray[np.float64]


def days_of(time: NDArray[np.uint32]) -> Ints:
    return np.where(time < EARLIEST, NO_DAY, time.astype(np.int64) // _DAY)


def cells_of(records: NDArray[np.void]) -> Cells:
    """TELEMETRY [n], at least one."""
    day = days_of(records["time"])
    keys = [records[name] for name in ("device", "model_id", "settings_check")]
    cells = grouped(*keys, day)
    device, model, check = (key[cells.first] for key in keys)
    builds = grouped(model, check)
    pairs = (model[builds.first], check[builds.first].astype(np.uint64))
    return Cells(
        builds=np.stack(pairs, axis=1),
        device=device,
        build=builds.of,
        day=day[cells.first],
        sums=_sums(records, cells),
        bins=_bins(records, cells),
        scatter_of_devices=scatter(records, grouped(*keys)),
        scatter_of_builds=scatter(records, grouped(*keys[1:])),
    )


def _sums(records: NDArray[np.void], cells: Grouping) -> Sums:
    keeps_alarm = (records["flags"] & TELEMETRY_NO_ALARM) == 0

    def total(values: NDArray) -> Ints:
        return cells.sum(values.astype(np.int64))

    return Sums(
        records=cells.sizes,
        frames=total(records["frames"]),
        abstained=total(records["abstained"]),
        foreign=total(records["foreign"]),
        watched=total(records["frames"] * keeps_alarm),
        alarms=total(records["alarms"]),
        alarm_frames=total(records["alarm_frames"]),
        uncertainty_q16=total(records["uncertainty_sum_q16"]),
    )


def _bins(records: NDArray[np.void], cells: Grouping) -> Ints:
    bins = np.empty((len(cells.starts), *SIGNALS), np.int64)
    for signal, i, count in _histograms(records):
        bins[:, signal, i] = cells.sum(count)
    return bins


def _histograms(records: NDArray[np.void]) -> Iterator[tuple[int, int, Ints]]:
    """(signal, bin, frames in it of each record)"""
    for signal, name in enumerate(("uncertainty_bins", "foreign_bins")):
        for i in range(SIGNALS[1]):
            yield signal, i, records[name][:, i].astype(np.int64)


def scatter(records: NDArray[np.void], groups: Grouping) -> NDArray[np.float64]:
    """[groups, 2]: how many times more the histograms of a group's records vary than those of
    independent frames would; nan with a single record."""
    frames = records["frames"].astype(np.int64)
    total, filled = groups.sum(frames), groups.sum((frames > 0).astype(np.int64))
    spread, used = np.zeros((2, len(total), SIGNALS[0]))
    for signal, _, count in _histograms(records):
        own = groups.sum(count)
        squares = groups.sum(count**2 / np.maximum(frames, 1))
        spread[:, signal] += squares * total / np.maximum(own, 1) - own
        used[:, signal] += own > 0
    freedom = (filled[:, None] - 1) * (used - 1)
    return divided(spread, np.maximum(freedom, 0))


@dataclass(frozen=True, eq=False)
class Newest:
    """Of each device with each build, [n], in the order of device, model id and settings check.
    right_q24, flags: of its last record; missing: records that are missing between others."""

    right_q24: Ints
    flags: Ints
    missing: Ints


def newest_of(records: NDArray[np.void]) -> Newest:
    """Sequence numbers say what is missing. One that is lower than the one before is that of a
    device that started anew, and says nothing."""
    keys = [records[name] for name in ("device", "model_id", "settings_check")]
    devices = grouped(*keys)
    last = devices.order[devices.starts + devices.sizes - 1]
    # The settings may change while a device runs, and its sequence goes on.
    order = np.lexsort([records["sequence"], records["time"], keys[1], keys[0]])
    step = np.diff(records["sequence"][order].astype(np.int64), prepend=0)
    step[grouped(*keys[:2]).starts] = 0
    missing = np.empty(len(order), np.int64)
    missing[order] = np.maximum(step - 1, 0)
    right, flags = (records[name][last].astype(np.int64) for name in ("right_q24", "flags"))
    return Newest(right, flags, devices.sum(missing))
