"""Choosing from a small grid on dev data."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from snapcli.methods.method import Dev, Method, Tuning
from snapcli.metrics.detection import detection

BY_AUROC = "AUROC of errors on dev data"


def errors_auroc(method: Method, dev: Dev) -> float:
    """AUROC of the method's errors over all dev data, by its score as its parameters are now; nan
    where there is none."""
    batches = dev.batches()
    wrong = np.concatenate([method.answers(batch) != batch.y for batch in batches])
    return detection(wrong, np.concatenate([method.score(batch) for batch in batches])).auroc


def chosen_from(
    grid: Mapping[str, Sequence[Any]], value: Callable[..., float], by: str = BY_AUROC
) -> Tuning:
    """The parameters with the largest value, the first of equals; those that stand first where no
    value is a number."""
    best, best_value = dict.fromkeys(grid), float("nan")
    for i, values in enumerate(product(*grid.values())):
        reached = value(*values)
        if i == 0 or reached > best_value or (np.isnan(best_value) and not np.isnan(reached)):
            best, best_value = dict(zip(grid, values, strict=True)), reached
    return Tuning({name: list(values) for name, values in grid.items()}, best, by, best_value)
