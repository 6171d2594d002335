"""What is called a drift: shifts, and neither chance nor the differences that devices have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapcli.fleet.drift import ranked
from snapcli.fleet.reading import _once
from snapcli.fleet.sums import NO_DAY, Cells, cells_of, grouped
from snapcli.fleet.units import builds_of, days_of_builds, devices_of

from .made_fleet import DAY_S, SHIFTED, START_S, USUAL, Made, joined

FIRST = START_S // DAY_S


def cells(*made: Made, seed: int = 0) -> Cells:
    return cells_of(_once(joined(seed, *made)))


def drifting(found: Cells) -> tuple[list[int], list[int]]:
    """Devices by their number, days counted from the first."""
    devices, days = devices_of(found), days_of_builds(found)
    drifts = days.drift.found.any(axis=1)
    return devices.device[devices.found].tolist(), (days.day[drifts] - FIRST).tolist()


@settings(max_examples=60)
@given(
    devices=st.integers(1, 60),
    days=st.integers(1, 20),
    each=st.integers(1, 6),
    frames=st.sampled_from([50, 300, 2000, 60000]),
    block=st.sampled_from([1, 5, 25, 50]),
    spread=st.sampled_from([0.0, 0.1]),
    clock=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_nothing_drifts_where_nothing_shifts(seed: int, **made: int) -> None:
    """Whatever the numbers, however frames depend on each other; where devices differ little."""
    assert drifting(cells(Made(**made), seed=seed)) == ([], [])


@given(
    devices=st.integers(6, 60),
    each=st.integers(2, 6),
    frames=st.sampled_from([1000, 2000, 60000]),
    block=st.sampled_from([1, 5]),
    spread=st.sampled_from([0.0, 0.05]),
    clock=st.booleans(),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_a_device_whose_inputs_shift_is_found(
    data: st.DataObject, seed: int, devices: int, **made: int
) -> None:
    one = data.draw(st.integers(0, devices - 1))
    found, _ = drifting(cells(Made(devices=devices, shifted=(one,), **made), seed=seed))
    assert found == [one + 1]


@pytest.mark.parametrize(("devices", "share"), [(6, 0.03), (13, 0.005), (60, 0.001)])
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_where_devices_differ_much_few_stand_out(devices: int, share: float, spread: float) -> None:
    """Each with inputs of its own, far from those of the others."""
    fleets = 1200 // devices
    made = Made(devices=devices, days=7, block=5, spread=spread)
    flagged = sum(len(drifting(cells(made, seed=seed))[0]) for seed in range(fleets))
    assert flagged <= share * devices * fleets


@pytest.mark.parametrize("seed", range(5))
def test_since_and_until_when(seed: int) -> None:
    usual = Made(days=10)
    odd = Made(days=8, first=10, shifted=(4,))
    after = Made(days=10, first=18)
    devices = devices_of(cells(usual, odd, after, seed=seed))
    assert devices.device[devices.found].tolist() == [5]
    assert (devices.since[4] - FIRST, devices.until[4] - FIRST) == (10, 17)
    assert not devices.lasts[4]
    devices = devices_of(cells(usual, odd, seed=seed))
    assert devices.lasts[4]
    assert devices.drift.psi[4].max() > 0.5


def test_a_shift_of_the_whole_fleet_is_one_of_days() -> None:
    everybody = tuple(range(20))
    found = cells(Made(days=12), Made(days=3, first=12, shifted=everybody, by=0.6))
    assert drifting(found) == ([], [12, 13, 14])


def test_up_to_a_third_of_the_devices_may_drift_at_once() -> None:
    shifted = tuple(range(6))
    assert drifting(cells(Made(devices=20, shifted=shifted)))[0] == [n + 1 for n in shifted]


def test_a_device_with_most_of_the_frames_is_not_the_measure_of_the_others() -> None:
    large = Made(devices=1, number=99, frames=60000, each=6, shifted=(0,))
    assert drifting(cells(Made(devices=6), large))[0] == [99]


def test_four_devices_do_not_tell_what_is_usual() -> None:
    devices = devices_of(cells(Made(devices=4, shifted=(0,))))
    assert not devices.found.any()
    assert np.isnan(devices.drift.limit).all()


def test_few_frames_say_nothing() -> None:
    found = cells(Made(devices=20, frames=30, each=2, shifted=(0,)))
    assert drifting(found) == ([], [])


def test_a_device_is_not_compared_with_itself() -> None:
    """Where it is a third of the frames, that would hide most of a shift."""
    found = cells(Made(devices=6, days=7, shifted=(2,), by=0.45))
    psi = devices_of(found).drift.psi[2, 0]
    far = 0.55 * USUAL + 0.45 * SHIFTED
    assert psi == pytest.approx(((far - USUAL) * np.log(far / USUAL))[0].sum(), rel=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_few_frames_beside_many_are_no_drift(seed: int) -> None:
    """As few as six hundred, which tell as much as twelve: other devices show that they do."""
    many = Made(devices=20, days=7, each=3, frames=20_000, block=50)
    few = Made(devices=1, number=99, days=1, each=1, frames=600, block=50)
    assert drifting(cells(many, few, seed=seed))[0] == []


@pytest.mark.parametrize("seed", range(10))
def test_a_device_whose_frames_depend_more_than_those_of_others(seed: int) -> None:
    slow = Made(devices=1, number=99, days=7, frames=2000, block=200)
    assert drifting(cells(Made(devices=20, days=7), slow, seed=seed))[0] == []


def test_the_first_week_is_the_measure_of_all_days() -> None:
    usual, then = Made(days=7), Made(days=14, first=7, shifted=tuple(range(20)))
    assert drifting(cells(usual, then)) == ([], list(range(7, 21)))


def test_a_clock_that_is_wrong_does_not_begin_the_first_week() -> None:
    """One device of thirty has lived in the year before, and sees something else."""
    wrong = Made(devices=1, number=99, days=10, first=-300, shifted=(0,))
    _, days = drifting(cells(wrong, Made(devices=30, days=14)))
    assert days == list(range(-300, -290))


def test_devices_are_compared_within_their_build() -> None:
    other = Made(devices=10, number=50, check=77, shifted=tuple(range(10)))
    found = cells(Made(devices=10), other)
    assert drifting(found) == ([], [])
    # Both began on the same day: neither is the one before.
    assert np.isnan(builds_of(found).drift.limit).all()


def test_a_build_is_compared_with_the_one_before() -> None:
    later = Made(devices=10, number=50, check=1, first=20, shifted=tuple(range(10)))
    builds = builds_of(cells(Made(devices=10), later))
    assert builds.order.tolist() == [1, 0]
    assert builds.drift.found.any(axis=1).tolist() == [False, True]
    assert (builds.first - FIRST).tolist() == [0, 20]
    assert builds.devices.tolist() == [10, 10]


def test_without_a_clock_there_are_no_days() -> None:
    found = cells(Made(devices=8, clock=False, shifted=(2,)))
    devices, days = devices_of(found), days_of_builds(found)
    assert devices.device[devices.found].tolist() == [3]
    assert devices.since[2] == devices.until[2] == NO_DAY
    assert days.day.tolist() == [NO_DAY]
    assert np.isnan(days.drift.limit).all()


@pytest.mark.parametrize("block", [1, 10, 50])
def test_scatter_counts_the_frames_that_tell_as_much_as_one(block: int) -> None:
    found = cells(Made(devices=1, days=1, each=300, block=block))
    assert found.scatter_of_devices[0] == pytest.approx([block, block], rel=0.1)


def test_records_without_a_frame_do_not_scatter() -> None:
    records = Made(devices=1, days=1, each=100, block=10).records(0)
    empty = np.zeros_like(records)
    for name in ("device", "model_id", "settings_check", "time"):
        empty[name] = records[name]
    both = cells_of(_once(np.concatenate([records, empty]))).scatter_of_devices[0]
    assert both == pytest.approx(cells_of(records).scatter_of_devices[0], rel=1e-12)


def test_scatter_of_one_record_is_not_known() -> None:
    assert np.isnan(cells(Made(devices=1, days=1, each=1)).scatter_of_devices).all()


def test_ranked_leaves_aside_what_is_not_known() -> None:
    groups = grouped(np.array([1, 0, 0, 1, 0, 2]))
    values = np.array([np.nan, 3.0, 1.0, 7.0, 2.0, np.nan])[:, None]
    assert ranked(values, groups)[:2, 0].tolist() == [2.0, 7.0]
    assert np.isnan(ranked(values, groups)[2, 0])
    assert ranked(values, groups, 0.9)[0, 0] == 3.0
