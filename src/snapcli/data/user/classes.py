"""Which output of a model each class of a user's data belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.errors import ConfigError, suggestion

_UNKNOWN = "unknown"
_ORDER = (
    "Name the model's classes in the order of its outputs (--labels a,b,c or a .txt; in a .csv "
    "write their numbers); examples without a class lie side by side in one folder."
)


@dataclass(frozen=True)
class Matching:
    """names: of the model's outputs in their order; index: the output of each class that was
    found in the data."""

    names: tuple[str, ...]
    index: dict[str, int]
    notes: tuple[str, ...]


def key(name: str) -> str:
    """What two spellings of a class have in common: Yes and yes, _unknown_ and unknown."""
    return (name.strip().strip("_") or name).casefold()


def numbered(classes: int) -> tuple[str, ...]:
    """Names of outputs that have none."""
    return tuple(str(i) for i in range(classes))


def matched(folders: Sequence[str], names: tuple[str, ...], classes: int, where: str) -> Matching:
    """folders: names of classes, or numbers of outputs; names: what the model's outputs are called,
    empty where it was not given: then the classes are taken in the order in which they come."""
    if not names and all(name.isascii() and name.isdigit() for name in folders):
        at = {name: int(name) for name in folders}
        check_indices(np.array(list(at.values())), classes, where)
        return _told(numbered(classes), at)
    if not names:
        if len(folders) != classes:
            raise ConfigError(
                f"{where} has {len(folders)} classes, the model answers with {classes}", _ORDER
            )
        order = f"classes are taken in this order, which --labels changes: {', '.join(folders)}"
        return Matching(tuple(folders), {name: i for i, name in enumerate(folders)}, (order,))
    outputs = {key(name): i for i, name in enumerate(names)}
    strange = [name for name in folders if key(name) not in outputs]
    if strange and _UNKNOWN not in outputs:
        raise ConfigError(
            f"{where} has '{strange[0]}', which is not a class of the model",
            suggestion(strange[0], names),
        )
    index = {name: outputs.get(key(name), outputs.get(_UNKNOWN, -1)) for name in folders}
    told = (f"these count as '{_UNKNOWN}': {', '.join(strange)}",) if strange else ()
    return _told(names, index, told)


def _told(names: tuple[str, ...], index: dict[str, int], notes: tuple[str, ...] = ()) -> Matching:
    lacking = [name for i, name in enumerate(names) if i not in index.values()]
    none = f"there are no examples of {', '.join(lacking)}"
    return Matching(names, index, (*notes, none) if lacking else notes)


def check_indices(y: NDArray[np.int64], classes: int, where: str) -> None:
    """Raises ConfigError for a label that is not an output of the model."""
    wrong = y[(y < 0) | (y >= classes)]
    if len(wrong):
        raise ConfigError(
            f"{where} has the label {wrong[0]}, the model's outputs are 0 to {classes - 1}",
            "Give the number of the right output, or names of classes.",
        )
