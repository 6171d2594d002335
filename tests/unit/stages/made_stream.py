"""What a build and a stream leave, as if they had been."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.measuring.frame_log import LABEL, FrameLog
from snapcli.metrics.timing import timing
from snapcli.results.flash import FlashReport, ImageSize
from snapcli.results.stream import SCHEMA, StreamReport
from snapcli.runs import Writer, json_writer


def flash_report(target: str, flash_bytes: int = 1000, ram_bytes: int = 100) -> FlashReport:
    size = ImageSize(flash_bytes, ram_bytes)
    return FlashReport(
        "tiny-001", target, "P", "with_heads.elf", size, size, 2000, 200, 100, 7, True
    )


def stream_report(frames: int, **values: Any) -> StreamReport:
    """Of a stream that went well, but for these values."""
    well: dict[str, Any] = {
        "schema": SCHEMA,
        "run": "tiny-001",
        "target": "qemu-m4",
        "part": "P",
        "model_id": "0123456789abcdef",
        "settings_check": 1,
        "image_crc": 2,
        "split": "test",
        "seed": 0,
        "frames": frames,
        "planned": frames,
        "bit_exact": frames,
        "resumed_at": 0,
        "abstained": 1,
        "foreign": 0,
        "budget": None,
        "watched": None,
        "alarm_threshold": None,
        "alarms": 0,
        "first_alarm": None,
        "repeats": 0,
        "restarts": 0,
        "seconds": 1.0,
        "counter": "cycles",
        "timing": timing(np.array([100, 101, 102])),
        "segments": (),
    }
    return StreamReport(**{**well, **values})


def stream_files(
    frames: int, taps: int, classes: int, arrays: dict[str, NDArray[Any]], **report: Any
) -> dict[str, Writer]:
    """Of a log in which all is zero but these arrays, and of a report with these values."""
    log = {**FrameLog.empty(frames, taps, classes).arrays, LABEL: np.zeros(frames, np.int64)}
    for name, values in arrays.items():
        log[name] = values.astype(log[name].dtype)

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, **log)  # type: ignore[arg-type]

    return {".npz": write, ".json": json_writer(stream_report(frames, **report))}
