"""A user's own files: a folder per class, of images or of .wav files."""

from collections import Counter
from pathlib import Path

import numpy as np

from snapcli.data.content import Content, check_classes
from snapcli.data.dataset import Split
from snapcli.data.images.sides import check_sides
from snapcli.data.request import Request
from snapcli.data.user.kinds import Pictures, Sounds, are_sounds, shapes_of
from snapcli.data.user.layout import layout_of, origins, read_examples
from snapcli.errors import ConfigError


def from_folder(path: Path, request: Request) -> Content:
    layout = layout_of(path)
    classes = layout.classes
    if len(classes) < 2:
        raise ConfigError(
            f"{path} has {'only one folder' if classes else 'no folder'} of examples",
            "Make a folder for each class, at least two.",
        )
    by_class = layout.files(classes)
    inside = [file for files in by_class.values() for file in files]
    foreign = layout.foreign_files if inside else []
    kind = Sounds() if are_sounds([*inside, *foreign], path) else _pictures(inside, request)
    examples = read_examples(layout, by_class, kind, request.strict, request.on_progress)
    divisions = {}
    for division, (x, files) in examples.divisions.items():
        y = np.array([classes.index(file.parent.name) for file in files], np.int64)
        check_classes(y, classes, str(layout.roots[division]))
        divisions[division] = Split(x, y, origins(files, path))
    return Content(classes, divisions, examples.foreign, examples.noise, examples.notes)


def _pictures(paths: list[Path], request: Request) -> Pictures:
    """The shape that was asked for, or the commonest size, in colour if any image has one."""
    seen = shapes_of(paths)
    sizes = Counter(shape[:2] for shape in seen.values())
    side = request.image_size
    height, width = (side, side) if side else sizes.most_common(1)[0][0]
    check_sides(height, width, "Name a size that they are brought to, for example --image-size 64.")
    channels = request.channels or max(shape[2] for shape in seen.values())
    return Pictures((height, width, channels), seen)
