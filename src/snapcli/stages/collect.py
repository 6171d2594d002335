"""The inputs that a device has kept -> a folder in which somebody labels them."""

import csv
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snapcli.device import Client, Kept
from snapcli.errors import CheckError
from snapcli.graph.graph import Tensor
from snapcli.runs import disk_errors, whole_file

LIST = "kept.csv"
_COLUMNS = ("file", "frame", "U", "F", "predicted", "label")
_COLOURS = (1, 3)
_Q16 = 2**16


def check_room(client: Client, remedy: str) -> None:
    """remedy: the command that builds the image."""
    if not client.evidence(0).capacity:
        raise CheckError(
            "the image in the device keeps no inputs",
            f"Build it with room for some: {remedy} --evidence 8",
        )


def collect(client: Client, folder: Path, tensor: Tensor, class_names: tuple[str, ...]) -> int:
    """How many there were. Each becomes an .npy of what the model was given (int8), an image a
    picture as well, and a line of kept.csv whose label is to be filled in; lines that are there
    stay. The device keeps others from then on."""
    count = client.evidence(0).count
    found = [kept for i in range(count) if (kept := client.evidence(i).kept)]
    with disk_errors(folder, "--collect"):
        folder.mkdir(parents=True, exist_ok=True)
        rows = _rows(folder / LIST)
        stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
        for kept in sorted(found, key=lambda k: -k.value_q16):
            stem = f"{stamp}-frame-{kept.frame}"
            x = np.frombuffer(kept.data, np.int8).reshape(tensor.shape)
            _write(folder / stem, x)
            rows.append(_row(f"{stem}.npy", kept, class_names))
        with (
            whole_file(folder / LIST) as partial,
            partial.open("w", newline="", encoding="utf-8") as f,
        ):
            csv.writer(f).writerows([_COLUMNS, *rows])
    client.forget_evidence()
    return len(found)


def _rows(path: Path) -> list[tuple[str, ...]]:
    """What somebody may have filled in already."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def _row(name: str, kept: Kept, class_names: tuple[str, ...]) -> tuple[str, ...]:
    u, f = kept.uncertainty_q16 / _Q16, kept.foreign_q16 / _Q16
    return name, str(kept.frame), f"{u:.4f}", f"{f:.4f}", class_names[kept.predicted], ""


def _write(path: Path, x: NDArray[np.int8]) -> None:
    np.save(f"{path}.npy", x)
    if x.ndim == 3 and x.shape[-1] in _COLOURS:
        pixels = (x.astype(np.int16) + 128).astype(np.uint8)
        Image.fromarray(pixels[..., 0] if x.shape[-1] == 1 else pixels).save(f"{path}.png")
