"""Arrays of examples: an .npz, or what a function of the user's returns."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.data.content import Content
from snapcli.data.dataset import Raw, Split
from snapcli.data.sound.stored import RATE, as_clips, clip_notes, rate_in
from snapcli.data.splits import named
from snapcli.data.user.classes import Matching, check_indices, matched, numbered
from snapcli.data.user.labels import Labels, checked_names
from snapcli.data.user.npz import DIVISIONS, Arrays, decoded, one_for_each, read_npz
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError
from snapcli.usercode import called, user_function

_HOLDS = "Give x, or x_train and perhaps x_dev and x_test; y likewise; ood; class_names."
_RETURNS = "It must take nothing and return x, (x, y) or a dictionary of arrays like an .npz."


def arrays_of_file(path: Path) -> Arrays:
    return read_npz(path, f"{_HOLDS} No objects.")


def arrays_of_function(name: str) -> Arrays:
    """Called without arguments."""
    returned = called(user_function(name), name, hint=_RETURNS)
    if isinstance(returned, tuple) and len(returned) == 2:
        returned = {"x": returned[0], "y": returned[1]}
    if not isinstance(returned, dict):
        return {"x": _array(returned, name)}
    return {str(key): _array(value, name) for key, value in returned.items() if value is not None}


def _array(value: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(value)
    except Exception:  # whatever a type that is not an array raises on its way to one
        array = np.array(None)
    if array.dtype.kind == "O":
        raise ConfigError(f"{name} returned {type(value).__name__}, not an array", _RETURNS)
    return array


def from_arrays(
    arrays: Arrays, where: str, wanted: Wanted, labels: Labels, as_given: bool
) -> Content:
    """where: what to call the arrays in a message; as_given: sounds are not brought to a second
    at 16 kHz."""
    ends = {"all": "", **{division: f"_{division}" for division in DIVISIONS}}
    inputs = {d: arrays[f"x{end}"] for d, end in ends.items() if f"x{end}" in arrays}
    if ("all" in inputs) == ("train" in inputs):
        raise ConfigError(f"{where} has the arrays {', '.join(arrays) or 'none'}", _HOLDS)
    foreign = {"ood": arrays["ood"]} if "ood" in arrays else {}
    rate = rate_in(arrays, where)
    raw = {d: _raw(x, rate, where, wanted, as_given) for d, x in {**inputs, **foreign}.items()}
    if len({(x.shape[1:], x.dtype) for x in raw.values()}) > 1:
        kinds = ", ".join(f"{x.shape} of {x.dtype}" for x in raw.values())
        raise ConfigError(f"{where} has examples of several kinds: {kinds}", "Give them one.")
    given = {d: arrays[f"y{ends[d]}"] for d in inputs if f"y{ends[d]}" in arrays}
    y = _answers(given, {d: len(x) for d, x in inputs.items()}, where, labels)
    names = labels.names
    if "class_names" in arrays and not names:
        listed = [str(name) for name in decoded(arrays["class_names"].reshape(-1))]
        names = checked_names(listed, wanted.classes, f"class_names of {where}")
    matching, indices = _matched(y, names, wanted.classes, where)
    divisions = {
        d: Split(
            raw[d],
            indices.get(d, np.zeros(len(x), np.int64)),
            named("x" if d == "all" else d, len(x)),
        )
        for d, x in inputs.items()
    }
    sounds = [x for x in inputs.values() if x.dtype == np.int16 and not as_given]
    return Content(
        class_names=matching.names,
        divisions=divisions,
        foreign=raw.get("ood"),
        noise=(),
        notes=(*clip_notes(sounds, rate, RATE in arrays), *matching.notes),
        labelled=bool(y),
    )


def _raw(x: np.ndarray, rate: int, where: str, wanted: Wanted, as_given: bool) -> Raw:
    """Examples as they are stored; real numbers as float32."""
    if x.size and x.ndim > 1:
        if x.dtype.kind == "f":
            with np.errstate(over="ignore"):
                real = x.astype(np.float32)
            if not np.isfinite(real).all():
                raise ConfigError(
                    f"{where} has values that are not numbers", "Remove those examples."
                )
            return real
        if x.dtype == np.int16 and as_given:
            return x
        # What is shorter than a tenth of a second was not meant as a sound.
        if x.dtype == np.int16 and x.ndim == 2 and 10 * x.shape[1] >= rate:
            return as_clips(x, rate)
        if x.dtype == np.uint8:
            # Grey images without an axis for their channel.
            return x[..., None] if x.ndim == 3 and len(wanted.shape) == 3 else x
        if x.dtype == np.int8:
            return x
    raise ConfigError(
        f"{where} has an array {x.shape} of {x.dtype}",
        "Give inputs [n, ...] as float or int8, images as uint8 or sounds [n, samples] as int16.",
    )


def _answers(
    given: Arrays, counts: dict[str, int], where: str, labels: Labels
) -> dict[str, np.ndarray]:
    """Labels of each division, numbers or names; none at all if none were given."""
    if labels.rows is not None:
        labels.refuse_answers(where, "For arrays, give a .npy with a number for each example.")
    if labels.answers is not None:
        if given or set(counts) != {"all"}:
            labels.refuse_answers(where, "That is for x alone, without y: leave --labels out.")
        given, where = {"all": labels.answers}, f"{where} with {labels.text}"
    if given and set(given) != set(counts):
        raise ConfigError(
            f"{where} has labels of {', '.join(given)} only", "Give y for every x, or for none."
        )
    return {d: one_for_each(y, counts[d], where) for d, y in given.items()}


def _matched(
    y: dict[str, np.ndarray], names: tuple[str, ...], classes: int, where: str
) -> tuple[Matching, dict[str, NDArray[np.int64]]]:
    """What the outputs are called, and the right one of each example."""
    if all(part.dtype.kind in "iub" for part in y.values()):
        indices = {d: part.astype(np.int64) for d, part in y.items()}
        for part in indices.values():
            check_indices(part, classes, where)
        return Matching(names or numbered(classes), {}, ()), indices
    words = {d: part.astype(np.str_) for d, part in y.items()}
    label_words = sorted({str(word) for part in words.values() for word in np.unique(part)})
    matching = matched(label_words, names, classes, where)
    return matching, {
        d: np.array([matching.index[str(word)] for word in part], np.int64)
        for d, part in words.items()
    }
