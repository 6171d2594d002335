"""What a device answered to a stream so far: kept frame by frame, stored as a whole.

While a stream is played, a partial file beside its future place is replaced now and then, so that
a stream that was cut off, even by a kill, goes on where it was.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from snapcli.device import Inference, StreamState, Watch
from snapcli.errors import ArtifactError
from snapcli.runs import whole_file
from snapcli.stored import check_values, stored_arrays

# In the types of the wire (SPEC 3.2); time_s is the host's clock, seconds since 1970.
_SCALARS: dict[str, type] = {
    "predicted": np.int32,
    "abstain": np.bool_,
    "score_q16": np.uint32,
    "uncertainty_q16": np.uint32,
    "foreign": np.bool_,
    "foreign_q16": np.uint32,
    "count": np.uint64,
    "rate_q24": np.int32,
    "threshold_q24": np.int32,
}
_ROWS: dict[str, type] = {"surprisal_q16": np.uint32, "logits": np.int8}
# What the alarm remembers behind each frame.
_WATCH: dict[str, type] = {
    "statistic_q16": np.int32,
    "offset_q16": np.int32,
    "frames": np.uint32,
    "right_q24": np.uint32,
    "baseline_sum_q16": np.uint32,
    "baseline_left": np.uint16,
    "alarms": np.uint16,
    "on": np.bool_,
    "place": np.uint8,
}
_WINDOW, _WINDOW_BYTES = "window", 32
_TIME, _IDENTITY, LABEL, ALARM = "time_s", "identity", "label", "alarm_"


@dataclass(eq=False)
class FrameLog:
    """arrays: name -> [frames] or [frames, ...], of which the first `done` count."""

    arrays: dict[str, NDArray[Any]]
    done: int = 0

    @classmethod
    def empty(cls, frames: int, taps: int, classes: int) -> Self:
        arrays: dict[str, NDArray[Any]] = {}
        for name, dtype in _SCALARS.items():
            arrays[name] = np.zeros(frames, dtype)
        for (name, dtype), width in zip(_ROWS.items(), (taps, classes), strict=True):
            arrays[name] = np.zeros((frames, width), dtype)
        for name, dtype in _WATCH.items():
            arrays[f"{ALARM}{name}"] = np.zeros(frames, dtype)
        arrays[f"{ALARM}{_WINDOW}"] = np.zeros((frames, _WINDOW_BYTES), np.uint8)
        arrays[_TIME] = np.zeros(frames, np.float64)
        return cls(arrays)

    @property
    def state(self) -> StreamState | None:
        """Where the stream stands; None at its start."""
        return self.answer(self.done - 1).state if self.done else None

    def add(self, answer: Inference, time_s: float) -> None:
        for name in (*_SCALARS, *_ROWS):
            self.arrays[name][self.done] = getattr(answer, name)
        for name in _WATCH:
            self.arrays[f"{ALARM}{name}"][self.done] = getattr(answer.watch, name)
        window = np.frombuffer(answer.watch.window, np.uint8)
        self.arrays[f"{ALARM}{_WINDOW}"][self.done] = window
        self.arrays[_TIME][self.done] = time_s
        self.done += 1

    def answer(self, frame: int) -> Inference:
        """What add() was given for it."""
        values = {name: self.arrays[name][frame].tolist() for name in _SCALARS}
        values |= {name: tuple(self.arrays[name][frame].tolist()) for name in _ROWS}
        watch = {name: self.arrays[f"{ALARM}{name}"][frame].tolist() for name in _WATCH}
        window = self.arrays[f"{ALARM}{_WINDOW}"][frame].tobytes()
        return Inference(**values, watch=Watch(**watch, window=window))

    # ---- The partial file --------------------------------------------------

    def save(self, path: Path, identity: Mapping[str, Any]) -> None:
        """Replaces the file as a whole. identity: what the stream and the device are."""
        held = {name: values[: self.done] for name, values in self.arrays.items()}
        held[_IDENTITY] = np.array(json.dumps(identity, sort_keys=True))
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as partial, partial.open("wb") as file:
            np.savez(file, **held)  # type: ignore[arg-type]

    def restore(self, path: Path, identity: Mapping[str, Any]) -> None:
        """Takes up what the file holds, if it can be read, is of the same stream and fits."""
        try:
            with stored_arrays(path) as held:
                if held.word(_IDENTITY) != json.dumps(identity, sort_keys=True):
                    return
                done = len(held.any(_TIME))
                if done > len(self.arrays[_TIME]):
                    return
                arrays = {
                    name: held.array(name, values.dtype, (done, *values.shape[1:]))
                    for name, values in self.arrays.items()
                }
        except ArtifactError:
            return
        for name, values in self.arrays.items():
            values[:done] = arrays[name]
        self.done = done


def read_log(path: Path, hint: str) -> dict[str, NDArray[Any]]:
    """What a finished stream left: the arrays of a FrameLog and the label of every frame, -1 for
    a foreign one. Raises ArtifactError."""
    with stored_arrays(path, hint) as held:
        frames = len(held.any(_TIME))
        arrays = {n: held.array(n, dtype, (frames,)) for n, dtype in _SCALARS.items()}
        arrays |= {n: held.array(n, dtype, (frames, None)) for n, dtype in _ROWS.items()}
        for name, dtype in _WATCH.items():
            arrays[f"{ALARM}{name}"] = held.array(f"{ALARM}{name}", dtype, (frames,))
        window = (frames, _WINDOW_BYTES)
        arrays[f"{ALARM}{_WINDOW}"] = held.array(f"{ALARM}{_WINDOW}", np.uint8, window)
        arrays[_TIME] = held.array(_TIME, np.float64, (frames,))
        arrays[LABEL] = held.array(LABEL, np.int64, (frames,), -1)
        for name in ("uncertainty_q16", "foreign_q16"):
            check_values(name, arrays[name], 0, 1 << 16)
        if not frames or not arrays["logits"].shape[1]:
            raise ValueError("it holds no frame")
    return arrays
