"""A choice from a grid: the best, the first of equals, and something where nothing can be told."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from snapcli.array import Array
from snapcli.methods.method import LOGITS, Batch, Dev, SinglePass
from snapcli.methods.tuning import chosen_from, errors_auroc
from tests.unit.made_evidence import made_dev


def test_the_best_of_all_combinations() -> None:
    tuning = chosen_from({"a": (1, 2, 3), "b": (5, 7)}, lambda a, b: -abs(a * b - 14), "closeness")
    assert tuning.chosen == {"a": 2, "b": 7}
    assert (tuning.score, tuning.by) == (0, "closeness")
    assert tuning.grid == {"a": [1, 2, 3], "b": [5, 7]}


def test_the_first_of_equals() -> None:
    assert chosen_from({"a": (3, 1, 2)}, lambda a: 0.5).chosen == {"a": 3}


def test_a_number_is_better_than_none() -> None:
    values = {1: math.nan, 2: 0.1, 3: math.nan, 4: 0.05}
    assert chosen_from({"a": (1, 2, 3, 4)}, values.__getitem__).chosen == {"a": 2}


def test_where_no_value_is_a_number_the_first_is_taken() -> None:
    tuning = chosen_from({"a": (4, 2)}, lambda a: math.nan)
    assert tuning.chosen == {"a": 4}
    assert math.isnan(tuning.score)


class Margin(SinglePass):
    """Anything with a score and answers of its own: here it takes the least likely class."""

    name = "margin"

    def score(self, batch: Batch) -> Array:
        return np.ptp(batch.logits, axis=-1)

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        return batch.logits.argmin(axis=-1)


def test_errors_are_the_methods_own_on_all_dev_data() -> None:
    dev = made_dev()
    logits = np.concatenate([b.logits for b in dev.batches()])
    wrong = logits.argmin(axis=-1) != np.concatenate([b.y for b in dev.batches()])
    expected = roc_auc_score(wrong, np.ptp(logits, axis=-1))
    assert errors_auroc(Margin(), dev) == pytest.approx(expected)


def test_without_an_error_nothing_can_be_told() -> None:
    batch = Batch({LOGITS: -np.eye(3)}, np.arange(3))
    assert math.isnan(errors_auroc(Margin(), Dev(batch, {})))
