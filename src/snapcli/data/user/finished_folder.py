"""A folder of images or .wav files: flat, or with a folder per class."""

from pathlib import Path

import numpy as np

from snapcli.data.content import Content
from snapcli.data.dataset import Split
from snapcli.data.user.classes import Matching, matched, numbered
from snapcli.data.user.kinds import FileKind, Pictures, Sounds, are_sounds, shapes_of
from snapcli.data.user.labels import Labels
from snapcli.data.user.layout import Layout, layout_of, origins, read_examples
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError
from snapcli.progress import OnProgress


def from_folder(path: Path, wanted: Wanted, labels: Labels, on_progress: OnProgress) -> Content:
    layout = layout_of(path)
    classes = layout.classes
    by_class = layout.files(classes) if classes else layout.files()
    inside = [file for files in by_class.values() for file in files]
    said = _said(layout, inside, labels)
    # Of foreign files alone nothing could be made.
    foreign = layout.foreign_files if inside else []
    kind = _kind(are_sounds([*inside, *foreign], path), inside, path, wanted)
    examples = read_examples(layout, by_class, kind, strict=False, on_progress=on_progress)
    if said:
        where = labels.text if labels.rows else str(path)
        read = {said[file] for _, files in examples.divisions.values() for file in files}
        matching = matched(sorted(read), labels.names, wanted.classes, where)
    else:
        matching = Matching(labels.names or numbered(wanted.classes), {}, ())
    divisions = {
        division: Split(
            x,
            np.array([matching.index[said[file]] if said else 0 for file in files], np.int64),
            origins(files, path),
        )
        for division, (x, files) in examples.divisions.items()
    }
    notes = (*examples.notes, *matching.notes)
    return Content(
        matching.names, divisions, examples.foreign, examples.noise, notes, labelled=bool(said)
    )


def _said(layout: Layout, files: list[Path], labels: Labels) -> dict[Path, str]:
    """The class of each file, by its folder or by the rows of --labels; empty without either."""
    if layout.classes:
        labels.refuse_answers(str(layout.path), "Its folders say the classes: give only names.")
        return {file: file.parent.name for file in files}
    if labels.answers is not None:
        labels.refuse_answers(str(layout.path), "For files, give a .csv with lines file,label.")
    return _by_rows(layout.path, files, labels.rows, labels.text) if labels.rows else {}


def _by_rows(path: Path, files: list[Path], rows: dict[str, str], where: str) -> dict[Path, str]:
    """A row names a file by its path within the folder, its name or its stem."""
    said: dict[Path, str] = {}
    taken: dict[str, str] = {}
    for file in files:
        names = (file.relative_to(path).as_posix(), file.name, file.stem)
        row = next((name for name in names if name in rows), None)
        if row is None:
            raise ConfigError(f"{where} has no line for {names[0]}", "Give every file a label.")
        if row in taken:
            raise ConfigError(
                f"'{row}' of {where} may be {taken[row]} or {names[0]}",
                "Write the path within the folder.",
            )
        said[file], taken[row] = rows[row], names[0]
    unused = [row for row in rows if row not in taken]
    if unused:
        raise ConfigError(
            f"{where} has a line for {unused[0]}, which is not in {path}",
            "Remove the line, or put the file there.",
        )
    return said


def _kind(sounds: bool, files: list[Path], path: Path, wanted: Wanted) -> FileKind:
    if sounds:
        return Sounds()
    if len(wanted.shape) != 3 or wanted.shape[2] not in (1, 3):
        raise ConfigError(
            f"{path} has images, the model takes inputs of shape {wanted.shape}",
            "Give an .npz of inputs, or module:function that returns them.",
        )
    height, width, channels = wanted.shape
    return Pictures((height, width, channels), shapes_of(files))
