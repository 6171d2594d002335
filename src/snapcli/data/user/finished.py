"""From what a user gave to a data set whose inputs a finished model takes."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from snapcli.config import DATASETS, AttachOptions
from snapcli.data.content import Content
from snapcli.data.corruptions import COMMON
from snapcli.data.corruptions.speech import speech_corruptions
from snapcli.data.corruptions.types import Corruption
from snapcli.data.dataset import Dataset, Raw, as_real
from snapcli.data.files.features import hash_of
from snapcli.data.front_ends import FrontEnd, check_inputs, front_end_for, real_inputs
from snapcli.data.images.sides import SIDES
from snapcli.data.sound.clips import Noise
from snapcli.data.splits import divided
from snapcli.data.user.finished_arrays import arrays_of_file, arrays_of_function, from_arrays
from snapcli.data.user.finished_folder import from_folder
from snapcli.data.user.finished_named import from_name
from snapcli.data.user.labels import Labels, read_labels
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError, UsageError, suggestion
from snapcli.progress import OnProgress, silent
from snapcli.usercode import look_in

_FEWEST = 50  # examples in all: of fewer no head can be fitted
# Nothing is trained: heads need fewer examples than a network, a map needs errors.
_DEV_SHARE = 0.2
_CHECKED = 256  # training examples whose inputs are looked at
_FORMS = "Give a folder, an .npz, module:function or a data set's name."


def load_given(options: AttachOptions, wanted: Wanted, on_progress: OnProgress = silent) -> Dataset:
    """The same splits in the same order for the same options, as long as the files (or what the
    function returns) are the same."""
    look_in(options.code_dir)
    labels = read_labels(options.labels, wanted.classes)
    if options.data in DATASETS:
        dataset = from_name(options, wanted, labels, on_progress)
        front_end = front_end_for(options.front_end, dataset.train.x, wanted)
    else:
        dataset = _divided(*_content(options, wanted, labels, on_progress))
        front_end = _front_end(options.front_end, dataset.train.x, wanted)
    checked = check_inputs(front_end.function(dataset.train.x[:_CHECKED]), wanted)
    notes = (*dataset.notes, *([front_end.note] if front_end.note else []), *checked)
    made = replace(
        dataset,
        front_end=front_end.function,
        identity=_identity(dataset, front_end, wanted),
        notes=notes,
    )
    if not options.augment_dev:
        return replace(made, corruptions={}, dev_corruptions=None, published={})
    if not made.corruptions:
        x = made.train.x
        raise ConfigError(
            f"--augment-dev needs images or sounds, {made.name} has {x.shape[1:]} of {x.dtype}",
            "Give images as uint8 [n, height, width, 1 or 3] or sounds as int16 [n, samples], and "
            "how they become inputs with --front-end.",
        )
    return made


def _content(
    options: AttachOptions, wanted: Wanted, labels: Labels, on_progress: OnProgress
) -> tuple[str, Content]:
    """(name, what there is)."""
    given, path = options.data, Path(options.data).expanduser()
    # A front end of the user's own knows what it takes.
    as_given = ":" in options.front_end
    if given and path.is_dir():
        path = path.resolve()
        return path.name, from_folder(path, wanted, labels, on_progress)
    if path.is_file():
        arrays = arrays_of_file(path)
        return path.stem, from_arrays(arrays, str(path), wanted, labels, as_given)
    if ":" in given:
        return given, from_arrays(arrays_of_function(given), given, wanted, labels, as_given)
    if "/" in given or "." in given:
        raise UsageError(f"there is no {given}", _FORMS)
    hint = suggestion(given, (*DATASETS, "PATH", "module:function")) if given else _FORMS
    raise UsageError(f"unknown data '{given}'", hint)


def _divided(name: str, content: Content) -> Dataset:
    divisions = content.divisions
    count = sum(len(split) for split in divisions.values())
    if count < _FEWEST or not all(len(split) for split in divisions.values()):
        parts = ", ".join(f"{len(split)} in {part}" for part, split in divisions.items())
        raise ConfigError(
            f"{name} has {count} examples" + ("" if "all" in divisions else f": {parts}"),
            f"Give at least {_FEWEST}, better thousands, and some in every part.",
        )
    train, dev, test = divided(divisions, _DEV_SHARE, every_class=False)
    sounds = train.x.dtype == np.int16 and train.x.ndim == 2
    arrays = (train.x, dev.x, test.x, *content.ood.values(), *content.noise)
    return Dataset(
        name=name,
        class_names=content.class_names,
        train=train,
        dev=dev,
        test=test,
        corruptions=_corruptions(train.x, content.noise),
        ood=content.ood,
        # Corruptions of sounds take long.
        identity=hash_of(name, arrays) if sounds else None,
        notes=content.notes,
        labelled=content.labelled,
    )


def _corruptions(x: Raw, noise: Noise) -> dict[str, Corruption]:
    """Those for raw examples of this kind; none for inputs, of which nobody knows what they are."""
    if x.dtype == np.int16 and x.ndim == 2:
        return speech_corruptions(noise)
    images = x.dtype == np.uint8 and x.ndim == 4 and x.shape[3] in (1, 3)
    return COMMON if images and min(x.shape[1:3]) >= SIDES[0] else {}


def _front_end(name: str, raw: Raw, wanted: Wanted) -> FrontEnd:
    """Images and sounds need one, inputs only the one that was given."""
    if ":" in name or raw.dtype in (np.uint8, np.int16):
        return front_end_for(name, raw, wanted)
    if name:
        raise ConfigError(
            f"--front-end {name} is for images and sounds, the data are inputs of {raw.dtype}",
            "Leave it out, or give images as uint8 or sounds as int16.",
        )
    if raw.dtype == np.int8:
        return FrontEnd("", partial(real_inputs, wanted=wanted))
    return FrontEnd("", as_real)


def _identity(dataset: Dataset, front_end: FrontEnd, wanted: Wanted) -> str | None:
    """A front end of the user's own may change under its name: nothing of it is kept."""
    if dataset.identity is None or ":" in front_end.name:
        return None
    return hash_of(f"attached {dataset.identity} {front_end.name} {wanted}", ())
