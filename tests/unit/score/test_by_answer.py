"""What the offsets of each answer are worth."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from snapcli.config import FitOptions
from snapcli.score.by_answer import ANY, by_answer
from snapcli.score.calibration import Condition, Conditions, fit_map, in_float
from snapcli.score.maps import ClassGatedMap

from .test_class_gated import by_answer as drawn

NAMES = ("zero", "one", "two", "never right")


def conditions(seed: int) -> Conditions:
    """Half of drawn data is clean, the rest is dealt to four types."""
    features, wrong, clean = drawn()
    rng = np.random.default_rng(seed)
    kind = np.where(clean, 4, rng.integers(0, 4, len(clean)))

    def of(k: int) -> Condition:
        chosen = kind == k
        return Condition(features.where(chosen), wrong[chosen], features.error_logit[chosen])

    return Conditions(of(4), {(f"type {k}", 1): of(k) for k in range(4)})


@pytest.fixture(scope="module")
def data() -> Conditions:
    return conditions(1)


def figures(data: Conditions, how: FitOptions = FitOptions()):  # noqa: B008
    fitted = fit_map("class-gated", data, data.types(), how)
    assert isinstance(fitted, ClassGatedMap)
    return fitted, by_answer(fitted, data, data, NAMES, in_float, how)


def test_error_rates_and_offsets_are_told_for_each_answer(data: Conditions) -> None:
    fitted, rows = figures(data)
    assert [row.answer for row in rows] == [*NAMES, ANY]
    every = [data.clean, *data.corrupted.values()]
    answer = np.concatenate([c.features.answer for c in every])
    wrong = np.concatenate([c.wrong for c in every])
    for k, row in enumerate(rows[:-1]):
        assert row.share == pytest.approx(np.mean(answer == k))
        assert row.wrong == pytest.approx(wrong[answer == k].mean())
        assert (row.offset, row.strange_offset) == (fitted.offset[k], fitted.strange_offset[k])
    assert rows[-1].share == 1.0
    assert rows[-1].wrong == pytest.approx(wrong.mean())
    assert np.isnan(rows[-1].offset)


def test_auroc_is_that_among_the_inputs_of_an_answer(data: Conditions) -> None:
    """Without a second type to fit on there is one turn, which judges everything."""
    alone = Conditions(data.clean, {("type 0", 1): data.corrupted["type 0", 1]})
    _, rows = figures(alone)
    both = [alone.clean, *alone.corrupted.values()]
    answer = np.concatenate([c.features.answer for c in both])
    wrong = np.concatenate([c.wrong for c in both])
    confidence = np.concatenate([c.confidence for c in both])
    for k, row in enumerate(rows[:-1]):
        expected = roc_auc_score(wrong[answer == k], confidence[answer == k])
        assert row.confidence == pytest.approx(expected)
    assert rows[-1].confidence == pytest.approx(roc_auc_score(wrong, confidence))


def test_both_fits_are_told_whichever_was_taken(data: Conditions) -> None:
    _, told = figures(data)
    _, untold = figures(data, FitOptions(class_offsets=False))
    for a, b in zip(told, untold, strict=True):
        np.testing.assert_equal(
            (a.without_offsets, a.with_offsets), (b.without_offsets, b.with_offsets)
        )
    assert told[-1].with_offsets > told[-1].without_offsets + 0.01
    assert not any(row.offset for row in untold[:-1])


def test_an_answer_that_is_always_right_has_no_auroc(data: Conditions) -> None:
    def right(c: Condition) -> Condition:
        return replace(c, wrong=c.wrong & (c.features.answer != 2))

    rows = figures(Conditions(right(data.clean), {k: right(c) for k, c in data.corrupted.items()}))[
        1
    ]
    assert rows[2].wrong == 0
    assert np.isnan([rows[2].confidence, rows[2].with_offsets, rows[2].without_offsets]).all()
