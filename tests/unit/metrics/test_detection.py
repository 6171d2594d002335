"""Detection figures against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from snapcli.metrics.detection import (
    Cell,
    Detection,
    Pool,
    detection,
    error_detection,
    ood_detection,
)

cells = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=20)


def cell(pairs: list[tuple[bool, int]]) -> Cell:
    return Cell(np.array([w for w, _ in pairs]), np.array([float(s) for _, s in pairs]))


def has_both(c: Cell) -> bool:
    return bool(c.wrong.any() and not c.wrong.all())


def equal(found: Detection, c: Cell) -> bool:
    if not has_both(c):
        return bool(np.isnan(found.auroc) and np.isnan(found.auprc))
    oracle = roc_auc_score(c.wrong, c.score), average_precision_score(c.wrong, c.score)
    return (found.auroc, found.auprc) == pytest.approx(oracle)


@given(cells)
def test_one_cell_is_scikit_learns(pairs: list[tuple[bool, int]]) -> None:
    c = cell(pairs)
    assert equal(detection(c.wrong, c.score), c)


@given(cells, st.lists(cells, max_size=5))
def test_pooled_per_cell_and_clean(
    clean_pairs: list[tuple[bool, int]], corrupted_pairs: list[list[tuple[bool, int]]]
) -> None:
    clean, corrupted = cell(clean_pairs), [cell(pairs) for pairs in corrupted_pairs]
    found = error_detection([Pool(clean, corrupted)])
    assert equal(found.clean, clean)
    assert equal(found.pooled, cell([*clean_pairs, *(p for part in corrupted_pairs for p in part)]))
    usable = [c for c in corrupted if has_both(c)]
    assert found.cells == len(usable)
    if usable:
        aurocs = [roc_auc_score(c.wrong, c.score) for c in usable]
        auprcs = [average_precision_score(c.wrong, c.score) for c in usable]
        assert found.per_cell.auroc == pytest.approx(sum(aurocs) / len(usable))
        assert found.per_cell.auprc == pytest.approx(sum(auprcs) / len(usable))
    else:
        assert np.isnan(found.per_cell.auroc)
        assert np.isnan(found.per_cell.auprc)


def test_two_pools_are_measured_apart_and_averaged() -> None:
    rng = np.random.default_rng(0)

    def made(scale: float) -> Pool:
        parts = [Cell(rng.random(40) < 0.4, rng.normal(0, 1, 40)) for _ in range(3)]
        clean, *rest = (Cell(c.wrong, scale * (c.score + c.wrong)) for c in parts)
        return Pool(clean, rest)

    pools = [made(1.0), made(1000.0)]
    alone = [error_detection([pool]) for pool in pools]
    found = error_detection(pools)
    for part in ("pooled", "clean", "per_cell"):
        for figure in ("auroc", "auprc"):
            values = [getattr(getattr(each, part), figure) for each in alone]
            assert getattr(getattr(found, part), figure) == pytest.approx(np.mean(values))
    assert found.cells == 4


def test_a_pool_without_errors_leaves_the_figure_to_the_other() -> None:
    score = np.array([1.0, 2.0, 3.0])
    fine, poor = (Cell(np.array(wrong), score) for wrong in ([False] * 3, [False, True, True]))
    found = error_detection([Pool(fine, []), Pool(poor, [])])
    assert found.pooled == found.clean == Detection(1.0, 1.0)
    assert np.isnan(error_detection([Pool(fine, [])]).pooled.auroc)


def test_foreign_inputs_are_the_positive_class() -> None:
    rng = np.random.default_rng(0)
    familiar, foreign = rng.normal(0, 1, 80), rng.normal(1, 1, 30)
    found = ood_detection(familiar, foreign)
    truth = np.repeat([0, 1], [80, 30])
    scores = np.concatenate([familiar, foreign])
    assert found.auroc == pytest.approx(roc_auc_score(truth, scores))
    assert found.auroc > 0.5
    assert found.auprc == pytest.approx(average_precision_score(truth, scores))
