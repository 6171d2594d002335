"""Telemetry (SPEC 4) <-> snapuq_telemetry.c: many streams side by side, a frame of each at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.fixedpoint.alarm import AlarmState
from snapcli.fixedpoint.crc32 import crc32

TELEMETRY_BINS, TELEMETRY_FRAMES = 16, 65535
TELEMETRY_MAGIC, TELEMETRY_VERSION = b"SNPT", 1
TELEMETRY_ON, TELEMETRY_BASELINE, TELEMETRY_NO_ALARM = 1, 2, 4
_BIN_BITS = 12
# A record as its bytes lie; a model id is a number like the others, from its eight bytes.
TELEMETRY = np.dtype(
    [
        ("magic", "S4"),
        ("version", "<u2"),
        ("flags", "<u2"),
        ("model_id", "<u8"),
        ("settings_check", "<u4"),
        ("device", "<u8"),
        ("time", "<u4"),
        ("sequence", "<u4"),
        ("frames", "<u2"),
        ("abstained", "<u2"),
        ("foreign", "<u2"),
        ("alarms", "<u2"),
        ("alarm_frames", "<u2"),
        ("zero", "<u2"),
        ("uncertainty_sum_q16", "<u4"),
        ("uncertainty_bins", "<u2", TELEMETRY_BINS),
        ("foreign_bins", "<u2", TELEMETRY_BINS),
        ("right_q24", "<u4"),
        ("crc", "<u4"),
    ]
)
TELEMETRY_BYTES = TELEMETRY.itemsize


@dataclass(eq=False)
class Telemetry:
    """Of n streams. record: TELEMETRY [n], all but its identity and CRC; alarms_seen [n]."""

    record: NDArray[np.void]
    alarms_seen: NDArray[np.int64]


def telemetry_start(time: int, alarm: AlarmState | None, streams: int = 1) -> Telemetry:
    """time: seconds since 1970, 0 without a clock. alarm: of the same streams, None where none
    is kept."""
    record = np.zeros(streams, TELEMETRY)
    record["magic"], record["version"] = TELEMETRY_MAGIC, TELEMETRY_VERSION
    record["time"] = time
    telemetry = Telemetry(record, np.zeros(streams, np.int64))
    _look(telemetry, alarm, np.ones(streams, bool))
    return telemetry


def telemetry_next(telemetry: Telemetry, time: int) -> None:
    before, record = telemetry.record, np.zeros_like(telemetry.record)
    for kept in ("magic", "version", "flags", "right_q24"):
        record[kept] = before[kept]
    record["time"], record["sequence"] = time, before["sequence"] + np.uint32(1)
    telemetry.record = record


def telemetry_add(
    telemetry: Telemetry,
    uncertainty_q16: NDArray[np.uint32],
    abstain: Bools,
    foreign_q16: NDArray[np.uint32],
    foreign: Bools,
    alarm: AlarmState | None,
) -> Bools:
    """A frame of each stream, all [n]; whether its record is full, [n]."""
    record = telemetry.record
    counted = record["frames"] < TELEMETRY_FRAMES
    record["frames"] += counted
    record["abstained"] += abstain & counted
    record["foreign"] += foreign & counted
    record["uncertainty_sum_q16"] += np.where(counted, uncertainty_q16, 0).astype(np.uint32)
    for name, value_q16 in (("uncertainty_bins", uncertainty_q16), ("foreign_bins", foreign_q16)):
        bins = np.minimum(value_q16 >> _BIN_BITS, TELEMETRY_BINS - 1)
        record[name][np.arange(len(record)), bins] += counted
    if alarm is not None:
        seen = telemetry.alarms_seen
        raised = alarm.alarms - np.where(alarm.alarms < seen, 0, seen)
        alarms = np.minimum(record["alarms"] + raised, TELEMETRY_FRAMES)
        record["alarms"] = np.where(counted, alarms, record["alarms"])
        record["alarm_frames"] += alarm.on & counted
    _look(telemetry, alarm, counted)
    return np.asarray(record["frames"] == TELEMETRY_FRAMES)


def telemetry_record(
    telemetry: Telemetry,
    model_id: NDArray[np.uint64],
    settings_check: NDArray[np.uint32],
    device: NDArray[np.uint64],
) -> NDArray[np.void]:
    """All [n] -> TELEMETRY [n]."""
    record = telemetry.record.copy()
    record["model_id"], record["settings_check"] = model_id, settings_check
    record["device"] = device
    return telemetry_sealed(record)


def telemetry_sealed(records: NDArray[np.void]) -> NDArray[np.void]:
    """TELEMETRY [n], with the right CRC in each."""
    records["crc"] = crc32(_rows(records)[:, :-4])
    return records


def _rows(records: NDArray[np.void]) -> NDArray[np.uint8]:
    """TELEMETRY [n] -> [n, 124], the same memory."""
    return records.view(np.uint8).reshape(len(records), TELEMETRY_BYTES)


def _look(telemetry: Telemetry, alarm: AlarmState | None, counted: Bools) -> None:
    record = telemetry.record
    if alarm is None:
        record["flags"] = np.where(counted, TELEMETRY_NO_ALARM, record["flags"])
        return
    flags = TELEMETRY_ON * alarm.on + TELEMETRY_BASELINE * (alarm.baseline_left > 0)
    record["flags"] = np.where(counted, flags, record["flags"])
    record["right_q24"] = np.where(counted, alarm.right_q24, record["right_q24"])
    telemetry.alarms_seen = np.where(counted, alarm.alarms, telemetry.alarms_seen)
