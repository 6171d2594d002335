"""A user's own arrays: an .npz."""

from pathlib import Path
from typing import Any

import numpy as np

from snapcli.data.content import Content, check_classes
from snapcli.data.dataset import Raw, Split, as_stored
from snapcli.data.images.sides import check_sides
from snapcli.data.request import Request
from snapcli.data.sound.stored import RATE, as_clips, clip_notes, rate_in
from snapcli.data.splits import named
from snapcli.data.user.npz import DIVISIONS, one_for_each, read_npz
from snapcli.errors import ConfigError


def from_npz(path: Path, request: Request) -> Content:
    """Arrays x and y, or x_train, y_train and perhaps x_test, y_test, x_dev, y_dev; class_names;
    sample_rate for sounds; ood for foreign examples."""
    arrays = read_npz(path, "Give an .npz with arrays x and y, without objects.")
    pairs = {"all": ("x", "y")} | {d: (f"x_{d}", f"y_{d}") for d in DIVISIONS}
    given = {d: (arrays[a], arrays[b]) for d, (a, b) in pairs.items() if {a, b} <= set(arrays)}
    if ("all" in given) == ("train" in given):
        raise ConfigError(
            f"{path} has the arrays {', '.join(arrays) or 'none'}",
            "It needs x and y, or x_train, y_train, x_test and y_test.",
        )
    labels = {
        division: one_for_each(y, len(x) if x.ndim else 0, str(path))
        for division, (x, y) in given.items()
    }
    classes = np.unique(np.concatenate(list(labels.values())))
    names = tuple(str(name) for name in arrays.get("class_names", classes).reshape(-1))
    if len(set(names)) != len(classes) or len(classes) < 2:
        raise ConfigError(
            f"{path} has labels of {len(classes)} classes and {len(set(names))} class names",
            "Give at least two classes, and a name for each.",
        )
    if request.image_size or request.channels:
        raise ConfigError(
            "--image-size and --channels convert files, not an .npz", "Convert the arrays yourself."
        )
    rate = rate_in(arrays, str(path))
    divisions = {}
    for division, (x, _) in given.items():
        y = np.searchsorted(classes, labels[division]).astype(np.int64)
        check_classes(y, names, f"{pairs[division][1]} of {path}")
        origins = named("npz" if division == "all" else division, len(y))
        divisions[division] = Split(_raw(x, rate, path), y, origins)
    foreign = _raw(arrays["ood"], rate, path) if "ood" in arrays else None
    everything = [*(s.x for s in divisions.values()), *([] if foreign is None else [foreign])]
    if len({x.shape[1:] for x in everything}) > 1:
        shapes = ", ".join(str(x.shape) for x in everything)
        raise ConfigError(f"{path} has examples of several shapes: {shapes}", "Give them one.")
    sounds = [x for x, _ in given.values() if x.ndim == 2]
    return Content(names, divisions, foreign, (), clip_notes(sounds, rate, RATE in arrays))


def _raw(x: np.ndarray, rate: int, path: Path) -> Raw:
    """An array of a user as raw examples; raises ConfigError for one that means nothing."""
    given = x.dtype
    sounds = x.ndim == 2 and x.dtype.kind in "if"
    if x.size and x.dtype.kind == "f":
        x = _stored(x, sounds, path)
    # What is shorter than a tenth of a second was not meant as a sound.
    if sounds and x.dtype == np.int16 and 10 * x.shape[1] >= rate and len(x):
        return as_clips(x, rate)
    if x.ndim == 3:
        x = x[..., None]
    if not x.size or x.ndim != 4 or x.dtype != np.uint8 or x.shape[3] not in (1, 3):
        raise ConfigError(
            f"{path} has an array {x.shape} of {given}",
            "Images are [n, height, width(, 1 or 3)] uint8 or in [0, 1]; sounds [n, samples].",
        )
    check_sides(x.shape[1], x.shape[2], "Convert the arrays yourself.")
    return x


def _stored(x: np.ndarray, sounds: bool, path: Path) -> Raw:
    """Real numbers as they are stored."""
    if not np.isfinite(x).all():
        raise ConfigError(f"{path} has values that are not numbers", "Remove those examples.")
    low = -1.0 if sounds else 0.0
    if x.min() < low or x.max() > 1.0:
        raise ConfigError(
            f"{path} has values from {x.min():g} to {x.max():g}",
            f"Real numbers must lie between {low:g} and 1, or use uint8 (images) or int16.",
        )
    dtype: Any = np.int16 if sounds else np.uint8
    return as_stored(x.astype(np.float32), np.dtype(dtype))
