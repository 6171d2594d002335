"""What --labels says: the names of the classes, or the right answer of each example."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli.data.user.classes import check_indices, key
from snapcli.errors import ArtifactError, ConfigError, UsageError
from snapcli.limits import TEXT_MAX, read_bytes
from snapcli.stored import read_npy, reading

_HEADER = ({"file", "filename", "name", "path"}, {"label", "class"})
_FORMS = "Give names with commas or a .txt of them, or an answer for each example: .csv or .npy."


@dataclass(frozen=True)
class Labels:
    """text: as it was given. names: of the model's outputs in their order; rows: {file: name of a
    class or number of an output}; answers: [n] numbers of outputs. At most one of them is there."""

    text: str = ""
    names: tuple[str, ...] = ()
    rows: dict[str, str] | None = None
    answers: NDArray[np.int64] | None = None

    def refuse_answers(self, where: str, hint: str) -> None:
        """Raises ConfigError where answers were given for data that cannot take them."""
        if self.rows is not None or self.answers is not None:
            raise ConfigError(f"{self.text} does not fit {where}", hint)


def read_labels(text: str, classes: int) -> Labels:
    """classes: how many outputs the model has."""
    path, suffix = Path(text).expanduser(), Path(text).suffix.lower()
    if not text:
        return Labels()
    if suffix in (".txt", ".csv", ".npy"):
        if not path.is_file():
            raise UsageError(f"there is no {text}", _FORMS)
        if suffix == ".npy":
            return Labels(text, answers=_answers(path, classes))
        content = _text(path)
        if suffix == ".csv":
            return Labels(text, rows=_rows(content, path))
        return Labels(
            text, checked_names([s for s in content.splitlines() if s.strip()], classes, text)
        )
    if path.is_file():
        raise UsageError(f"{text} cannot say what the labels are", _FORMS)
    return Labels(text, checked_names(text.split(","), classes, "--labels"))


def _text(path: Path) -> str:
    try:
        # With the mark that spreadsheets put in front, or without.
        return read_bytes(path, TEXT_MAX).decode("utf-8-sig")
    except (OSError, ValueError):
        raise ArtifactError(f"{path} cannot be read", "Save it as UTF-8.") from None


def checked_names(given: Sequence[str], classes: int, where: str) -> tuple[str, ...]:
    """Names for all of the model's outputs, each its own."""
    names = tuple(name.strip() for name in given)
    if len(names) != classes:
        raise ConfigError(
            f"{where} names {len(names)} classes, the model answers with {classes}",
            "Give one for each output, in their order.",
        )
    if not all(names):
        raise ConfigError(f"{where} has an empty name", "Give every output a name.")
    keys = [key(name) for name in names]
    twice = [name for i, name in enumerate(names) if keys[i] in keys[:i]]
    if twice:
        raise ConfigError(f"{where} names '{twice[0]}' twice", "Give every output its own name.")
    return names


def _rows(content: str, path: Path) -> dict[str, str]:
    labels: dict[str, str] = {}
    reader = csv.reader(content.splitlines())
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    except csv.Error as error:
        raise ArtifactError(f"{path} cannot be read: {error}", "Write lines file,label.") from None
    for place, (number, cells) in enumerate(lines):
        if len(cells) != 2 or not all(cells):
            raise ConfigError(
                f"line {number} of {path} has not two columns", "Write lines file,label."
            )
        if place == 0 and all(c.lower() in known for c, known in zip(cells, _HEADER, strict=True)):
            continue
        file, label = cells
        if file in labels:
            raise ConfigError(f"{path} has '{file}' twice", "Keep one line for each file.")
        labels[file] = label
    if not labels:
        raise ConfigError(f"{path} has no labels", "Write lines file,label.")
    return labels


def _answers(path: Path, classes: int) -> NDArray[np.int64]:
    with reading(path, "Save whole numbers with numpy.save."):
        y = read_npy(path)
    if y.dtype.kind not in "iu" or y.ndim != 1:
        raise ConfigError(
            f"{path} has an array {y.shape} of {y.dtype}", "Give whole numbers, one per example."
        )
    check_indices(y, classes, str(path))
    return y.astype(np.int64)
