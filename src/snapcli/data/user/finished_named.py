"""A data set by name: a finished model has seen all of it but the test examples."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from snapcli.config import AttachOptions, TrainOptions
from snapcli.data.dataset import Dataset, Published, Raw, Split
from snapcli.data.loading import load_dataset
from snapcli.data.user.classes import matched
from snapcli.data.user.labels import Labels
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError
from snapcli.progress import OnProgress


def from_name(
    options: AttachOptions, wanted: Wanted, labels: Labels, on_progress: OnProgress
) -> Dataset:
    """Train as it is; test examples of even number are dev, the others test."""
    name = options.data
    labels.refuse_answers(name, "It has labels of its own: give only names of the classes.")
    asked = TrainOptions(dataset=name, data_dir=options.data_dir, augment=("none",))
    dataset = load_dataset(asked, on_progress)
    known = dataset.class_names
    if not labels.names and len(known) != wanted.classes:
        raise ConfigError(
            f"{name} has {len(known)} classes, the model answers with {wanted.classes}",
            "Give other data, or name the model's classes in their order with --labels.",
        )
    matching = matched(known, labels.names, wanted.classes, name)
    output = np.array([matching.index[name] for name in known], np.int64)

    def answered(split: Split) -> Split:
        return replace(split, y=output[split.y])

    odd = np.arange(1, len(dataset.test), 2)
    return replace(
        dataset,
        class_names=matching.names,
        train=answered(dataset.train),
        dev=answered(dataset.test.take(np.arange(0, len(dataset.test), 2))),
        test=answered(dataset.test.take(odd)),
        published={
            name: Published(corruption.severities, _of_rows(corruption.read, odd))
            for name, corruption in dataset.published.items()
        },
        notes=(*dataset.notes, *matching.notes),
    )


def _of_rows(read: Callable[[int], Raw], rows: NDArray[np.intp]) -> Callable[[int], Raw]:
    return lambda severity: read(severity)[rows]
