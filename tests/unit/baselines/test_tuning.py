"""A choice from a grid: the best, the first of equals, and something where nothing can be told."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from snapcli.baselines.method import LOGITS, Array, Batch, Dev, SinglePass
from snapcli.baselines.tuning import chosen_from, errors_found


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


class Given(SinglePass):
    """Its answers and scores are outputs of the batch."""

    name = "given"

    def score(self, batch: Batch) -> Array:
        return batch.outputs["score"]

    def answers(self, batch: Batch) -> NDArray[np.int64]:
        return batch.outputs["answer"].astype(np.int64)


def test_errors_are_the_methods_own_over_all_dev_data() -> None:
    rng = np.random.default_rng(0)

    def batch(count: int) -> Batch:
        answer = rng.integers(0, 3, count).astype(float)
        outputs = {
            LOGITS: np.eye(3)[[0] * count],
            "answer": answer,
            "score": rng.normal(size=count),
        }
        return Batch(outputs, rng.integers(0, 3, count))

    dev = Dev(batch(40), {("fog", 1): batch(30), ("fog", 2): batch(20)})
    parts = [dev.clean, *dev.corrupted.values()]
    wrong = np.concatenate([b.outputs["answer"] != b.y for b in parts])
    expected = roc_auc_score(wrong, np.concatenate([b.outputs["score"] for b in parts]))
    assert errors_found(Given(), dev) == pytest.approx(expected)


def test_without_an_error_nothing_can_be_told() -> None:
    y = np.arange(3)
    batch = Batch({LOGITS: np.eye(3), "answer": y.astype(float), "score": y.astype(float)}, y)
    assert math.isnan(errors_found(Given(), Dev(batch, {})))
