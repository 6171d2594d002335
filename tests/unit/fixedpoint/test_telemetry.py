"""Telemetry records: their bytes, their CRC, and that they merge by adding."""

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from snapcli.fixedpoint import (
    NO_ALARM,
    TELEMETRY,
    TELEMETRY_BASELINE,
    TELEMETRY_BYTES,
    TELEMETRY_NO_ALARM,
    TELEMETRY_ON,
    AlarmState,
    alarm_start,
    crc32,
    telemetry_add,
    telemetry_next,
    telemetry_record,
    telemetry_start,
)

COUNTS = ("frames", "abstained", "foreign", "uncertainty_sum_q16", "alarms", "alarm_frames")
BINS = ("uncertainty_bins", "foreign_bins")


def record(frames: np.ndarray, each: int, alarm: AlarmState | None = None) -> np.ndarray:
    """frames [n, 2]: U and F; half of them abstain, a third is foreign."""
    telemetry, found = telemetry_start(7, alarm), []

    def take() -> None:
        one = (np.uint64([1]), np.uint32([2]), np.uint64([3]))
        found.append(telemetry_record(telemetry, *one))

    for i, (u, f) in enumerate(frames):
        if i and i % each == 0:
            take()
            telemetry_next(telemetry, 7 + i)
        odd, third = np.array([i % 2 == 1]), np.array([i % 3 == 0])
        telemetry_add(telemetry, u[None], odd, f[None], third, alarm)
    take()
    return np.concatenate(found)


@given(hnp.arrays(np.uint8, st.tuples(st.integers(0, 4), st.integers(0, 40))))
def test_its_crc_is_zlib_s(rows: np.ndarray) -> None:
    assert crc32(rows).tolist() == [zlib.crc32(row.tobytes()) for row in rows]


def test_every_field_lies_where_the_specification_says() -> None:
    assert TELEMETRY_BYTES == 124
    places = {name: TELEMETRY.fields[name][1] for name in TELEMETRY.names}
    assert places == {
        "magic": 0,
        "version": 4,
        "flags": 6,
        "model_id": 8,
        "settings_check": 16,
        "device": 20,
        "time": 28,
        "sequence": 32,
        "frames": 36,
        "abstained": 38,
        "foreign": 40,
        "alarms": 42,
        "alarm_frames": 44,
        "zero": 46,
        "uncertainty_sum_q16": 48,
        "uncertainty_bins": 52,
        "foreign_bins": 84,
        "right_q24": 116,
        "crc": 120,
    }
    said = record(np.array([[65536, 4095]], np.uint32), each=1).tobytes()
    assert said[:16] == b"SNPT\1\0\4\0\1\0\0\0\0\0\0\0"
    assert said[52 + 30 :][:4] == b"\1\0\1\0"  # U in the last bin, F in the first
    assert zlib.crc32(said[:120]) == int.from_bytes(said[120:], "little")


@given(
    hnp.arrays(
        np.uint32, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(0, 65536)
    ),
    st.integers(1, 30),
)
def test_parts_of_a_stream_add_up_to_the_whole(frames: np.ndarray, each: int) -> None:
    whole, parts = record(frames, len(frames)), record(frames, each)
    for name in (*COUNTS, *BINS):
        total = parts[name].astype(np.int64).sum(axis=0)
        assert np.array_equal(total, whole[name][0].astype(np.int64)), name
    assert parts["sequence"].tolist() == list(range(len(parts)))
    for bins in BINS:
        assert whole[bins].sum() == len(frames)


def test_alarms_are_counted_across_records_and_restarts() -> None:
    state = alarm_start(NO_ALARM)
    state.alarms = np.array([5])
    telemetry = telemetry_start(0, state)
    frame = (np.uint32([0]), np.array([False]), np.uint32([0]), np.array([False]))
    seen = []
    for alarms in (5, 6, 6, 0, 1):  # 6 before the stream begins anew
        state.alarms, state.on = np.array([alarms]), np.array([alarms == 6])
        telemetry_add(telemetry, *frame, state)
        seen.append(int(telemetry.record["alarms"][0]))
    assert seen == [0, 1, 1, 1, 2]
    assert telemetry.record["alarm_frames"][0] == 2


def test_flags_are_those_of_the_last_frame() -> None:
    state = alarm_start(NO_ALARM)
    frames = np.zeros((1, 2), np.uint32)
    assert record(frames, 1)["flags"] == TELEMETRY_NO_ALARM
    assert record(frames, 1, state)["flags"] == 0
    state.on, state.baseline_left = np.array([True]), np.array([9])
    assert record(frames, 1, state)["flags"] == TELEMETRY_ON | TELEMETRY_BASELINE
