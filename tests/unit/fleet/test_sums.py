"""Merging: exact, and independent of how the records were split."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import TELEMETRY_NO_ALARM, telemetry_sealed
from snapcli.fleet.reading import _once
from snapcli.fleet.sums import EARLIEST, NO_DAY, cells_of, days_of, grouped, newest_of

from .made_fleet import DAY_S, START_S, Made

COUNTS = ("records", "frames", "abstained", "foreign", "watched", "alarms", "alarm_frames")
COUNTS += ("uncertainty_q16",)


def made() -> np.ndarray:
    """Two builds, of which the second has devices of the first."""
    one, two = Made(devices=4, days=3), Made(devices=3, days=3, first=2, check=9)
    return np.concatenate([one.records(0), two.records(1)])


@given(st.permutations(range(42)), st.integers(1, 41))
def test_sums_of_parts_are_the_sum_of_all(order: list[int], cut: int) -> None:
    records = made()[order]
    whole = cells_of(_once(records))
    parts = [cells_of(_once(part)) for part in (records[:cut], records[cut:])]
    keys = [np.concatenate([getattr(part, name) for part in parts]) for name in ("device", "day")]
    builds = np.concatenate([part.builds[part.build] for part in parts])
    merged = grouped(keys[0], *builds.T, keys[1])
    for name in COUNTS:
        values = np.concatenate([getattr(part.sums, name) for part in parts])
        assert np.array_equal(merged.sum(values), getattr(whole.sums, name)), name
    bins = np.concatenate([part.bins for part in parts])
    assert np.array_equal(merged.sum(bins), whole.bins)
    assert np.array_equal(keys[0][merged.first], whole.device)


def test_cells_hold_what_their_records_do() -> None:
    records = _once(made())
    cells = cells_of(records)
    day = records["time"] // DAY_S
    for i in range(len(cells.device)):
        model, check = cells.builds[cells.build[i]]
        own = records[
            (records["device"] == cells.device[i])
            & (records["model_id"] == model)
            & (records["settings_check"] == check)
            & (day == cells.day[i])
        ]
        assert cells.sums.records[i] == len(own) == 2
        assert cells.sums.frames[i] == own["frames"].sum()
        assert np.array_equal(cells.bins[i, 0], own["uncertainty_bins"].sum(axis=0))
        assert np.array_equal(cells.bins[i, 1], own["foreign_bins"].sum(axis=0))
        assert cells.sums.accuracy[i] == 1 - own["uncertainty_sum_q16"].sum() / 65536 / 2000


def test_the_largest_counts_do_not_overflow() -> None:
    records = np.repeat(Made(devices=1, days=1, each=1).records(0), 100_000)
    records["frames"] = records["uncertainty_bins"][:, 0] = 65535
    records["uncertainty_sum_q16"] = 65535 << 16
    sums = cells_of(records).sums
    assert sums.frames.tolist() == [65535 * 100_000]
    assert sums.uncertainty_q16.tolist() == [(65535 << 16) * 100_000]
    assert sums.accuracy.tolist() == [0.0]


def test_frames_without_an_alarm_are_not_watched() -> None:
    records = Made(devices=1, days=1).records(0)
    records["flags"][0] = TELEMETRY_NO_ALARM
    assert cells_of(records).sums.watched.tolist() == [1000]


def test_a_clock_that_was_never_set_is_none() -> None:
    times = np.array([0, 86_400, EARLIEST - 1, EARLIEST, START_S], np.uint32)
    assert days_of(times).tolist() == [NO_DAY, NO_DAY, NO_DAY, 18262, 20454]


def test_sequence_numbers_tell_what_is_missing() -> None:
    records = Made(devices=2, days=5, each=1).records(0)
    records["sequence"] = [3, 4, 7, 8, 9, 0, 1, 0, 1, 5]
    records["settings_check"][7:] = 99  # pushed to the second device while it runs
    newest = newest_of(_once(telemetry_sealed(records)))
    # By device and build; a lower number is a device that started anew.
    assert newest.missing.tolist() == [2, 3, 0]


def test_the_newest_record_is_the_last() -> None:
    records = Made(devices=2, days=3, each=1).records(0)
    records["right_q24"] = np.arange(6)
    assert newest_of(_once(records[::-1])).right_q24.tolist() == [2, 5]
