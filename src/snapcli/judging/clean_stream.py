"""A stream of a user's own clean frames: what `snap monitor --record` wrote, or inputs in order."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.errors import UsageError
from snapcli.graph.chunks import in_chunks
from snapcli.limits import DATA_MAX, read_bytes
from snapcli.monitor.alarm import FieldAlarm
from snapcli.monitor.monitor import Monitor
from snapcli.stored import check_values, json_value, read_npy, reading

FEWEST, CLEAN = 200, "clean"
_HINT = "Give a record of snap monitor --record, or inputs as .npy, in the order they came."
# What a frame needs, and the most that each can be.
_NEEDED = {"uncertainty_q16": 65536, "foreign_q16": 65536, "score_q16": 2**32 - 1, "abstain": 1}


def clean_values(path: Path, monitor: Monitor, signal: str) -> NDArray[np.uint32]:
    """What an alarm on this signal would be given, uint32 [frames]."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}", _HINT)
    alarm = FieldAlarm(signal, fx.NO_ALARM)
    is_array = path.suffix == ".npy"
    values = _of_inputs(path, monitor, alarm) if is_array else _of_record(path, alarm)
    if len(values) < FEWEST:
        raise UsageError(
            f"{path} holds {len(values)} frames, too few to tell how they depend on each other",
            f"Give at least {FEWEST}.",
        )
    return values


def _of_inputs(path: Path, monitor: Monitor, alarm: FieldAlarm) -> NDArray[np.uint32]:
    """int8 as the device is given them, or real numbers."""
    graph = monitor.body.graph
    shape = graph.tensors[graph.input].shape
    with reading(path, _HINT):
        x = read_npy(path)
        if x.shape[1:] != tuple(shape) or x.dtype not in (np.int8, np.float32, np.float64):
            raise ValueError(f"it is {x.dtype} {list(x.shape)}, not int8 or float of {list(shape)}")
        check_values("it", x)
    quantized = x if x.dtype == np.int8 else graph.quantize(x.astype(np.float32))
    parts = [part for _, part in in_chunks(monitor.run, quantized)]
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in _NEEDED]
    return alarm.values(*columns)


def _of_record(path: Path, alarm: FieldAlarm) -> NDArray[np.uint32]:
    with reading(path, _HINT):
        lines = read_bytes(path, DATA_MAX).decode("utf-8").splitlines()
        rows = [json_value(line) for line in lines if line.strip()]
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("it is no record of snap monitor")
        shown = next((row for row in rows if row.get("condition", CLEAN) != CLEAN), None)
        columns = {name: np.array([row[name] for row in rows]) for name in _NEEDED}
        for name, values in columns.items():
            if values.dtype.kind not in "iub":
                raise ValueError(f"{name} is not a number in every line")
            check_values(name, values, 0, _NEEDED[name])
    if shown is not None:
        raise UsageError(
            f"{path} is not clean: it has frames of {str(shown['condition'])[:40]}",
            "Record clean frames: snap monitor --source test --record FILE",
        )
    u, f, s, abstain = (columns[name] for name in _NEEDED)
    return alarm.values(
        u.astype(np.uint32), f.astype(np.uint32), s.astype(np.uint32), abstain.astype(bool)
    )
