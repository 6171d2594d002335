"""What a device has kept -> a folder: inputs that somebody labels, and its telemetry record."""

import csv
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snapcli import fixedpoint as fx
from snapcli.device import Client, Kept
from snapcli.graph.graph import Tensor
from snapcli.runs import disk_errors, whole_file
from snapcli.stored import reading

LIST, RECORDS = "kept.csv", "telemetry.snpt"
_COLUMNS = ("file", "frame", "U", "F", "predicted", "label")
_COLOURS = (1, 3)
_Q16 = 2**16
_HINT = "Save it as CSV in UTF-8, or give --collect another folder; the device has lost nothing."


@dataclass(frozen=True)
class Collected:
    """inputs: how many there were; capacity: how many the image keeps; record: whether there were
    frames to tell of."""

    inputs: int
    capacity: int
    record: bool


def collect(
    client: Client, folder: Path, tensor: Tensor, class_names: tuple[str, ...], device: int
) -> Collected:
    """Each input becomes an .npy of what the model was given (int8), an image a picture as well,
    and a line of kept.csv, frames counted from 0, whose label is to be filled in. What is in the
    folder stays. The device keeps other inputs, and begins another record, from then on. device:
    its number."""
    first = client.evidence(0)
    found = [kept for i in range(first.count) if (kept := client.evidence(i).kept)]
    record = client.telemetry(take=False, now_s=int(time.time()), device=device)
    with disk_errors(folder, "--collect"):
        folder.mkdir(parents=True, exist_ok=True)
        if found:
            _add_inputs(folder, found, tensor, class_names)
        has_frames = bool(np.frombuffer(record, fx.TELEMETRY)["frames"].any())
        if has_frames:
            with (folder / RECORDS).open("ab") as file:
                file.write(record)
    # Only what is on the disk is forgotten.
    client.forget_evidence()
    client.telemetry(take=True)
    return Collected(len(found), first.capacity, has_frames)


def _add_inputs(
    folder: Path, found: list[Kept], tensor: Tensor, class_names: tuple[str, ...]
) -> None:
    rows = _rows(folder / LIST)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    for kept in sorted(found, key=lambda k: -k.value_q16):
        stem = f"{stamp}-frame-{kept.frame - 1}"
        _write(folder / stem, np.frombuffer(kept.data, np.int8).reshape(tensor.shape))
        rows.append(_row(f"{stem}.npy", kept, class_names))
    with (
        whole_file(folder / LIST) as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        csv.writer(file).writerows([_COLUMNS, *rows])


def _rows(path: Path) -> list[tuple[str, ...]]:
    """What somebody may have filled in already."""
    if not path.is_file():
        return []
    with reading(path, _HINT), path.open(newline="", encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file, strict=True)][1:]


def _row(name: str, kept: Kept, class_names: tuple[str, ...]) -> tuple[str, ...]:
    u, f = kept.uncertainty_q16 / _Q16, kept.foreign_q16 / _Q16
    return name, str(kept.frame - 1), f"{u:.4f}", f"{f:.4f}", class_names[kept.predicted], ""


def _write(path: Path, x: NDArray[np.int8]) -> None:
    np.save(f"{path}.npy", x)
    if x.ndim == 3 and x.shape[-1] in _COLOURS:
        pixels = (x.astype(np.int16) + 128).astype(np.uint8)
        Image.fromarray(pixels[..., 0] if x.shape[-1] == 1 else pixels).save(f"{path}.png")
