"""quantize_head: the integer surprisal follows the float one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from snapcli import fixedpoint as fx
from snapcli.graph import Tensor
from snapcli.heads.head import Head
from snapcli.heads.quantize import folds, quantize_head

from ..tiny_monitor import random_head

BEFORE = Tensor("before", (6, 5, 12), 0.031, -128)
AFTER = Tensor("after", (6, 5, 16), 0.022, -100)
RANKS = (1, 4, 12)


def draw_sums(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Pooled sums of correlated channels, as activations of two neighbouring blocks are."""
    cause = rng.normal(0, 1, (count, 3))
    return {
        t.name: np.rint(
            t.positions * (60 + 12 * (cause @ rng.normal(0, 1, (3, t.channels))))
            + t.positions * rng.normal(0, 4, (count, t.channels))
        ).astype(np.int32)
        for t in (BEFORE, AFTER)
    }


def both(
    head: Head, clean: dict[str, np.ndarray], judged: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(float, integer) surprisal of the judged sums; ranges come from the clean ones."""
    real = head.surprisal(
        *(judged[t.name] * (t.scale / t.positions) for t in (BEFORE, AFTER)),
    )
    integer = quantize_head(head, BEFORE, AFTER, clean["before"])
    return real, fx.surprisal_s8(integer, judged["before"], judged["after"]) / 65536


@pytest.mark.parametrize("rank", RANKS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_integer_surprisal_ranks_like_float(rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sums = draw_sums(rng, 400)
    real, integer = both(random_head(BEFORE, AFTER, sums, rank, seed), sums, sums)
    assert spearmanr(real, integer).statistic > 0.99
    np.testing.assert_allclose(integer, real, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("rank", RANKS)
def test_a_shifted_input_still_looks_surprising(rank: int) -> None:
    """Beyond the ranges of clean data values saturate, but never wrap around."""
    rng = np.random.default_rng(rank)
    sums = draw_sums(rng, 400)
    head = random_head(BEFORE, AFTER, sums, rank)
    far = {
        name: s + 40 * BEFORE.positions * (1 + np.arange(400)[:, None] // 40)
        for name, s in sums.items()
    }
    real, integer = both(head, sums, {n: s.astype(np.int32) for n, s in far.items()})
    clean = both(head, sums, sums)[1]
    assert np.median(integer) > 3 * np.median(clean)
    assert spearmanr(real, integer).statistic > 0.9


@pytest.mark.parametrize("rank", RANKS)
def test_a_head_of_constant_variance(rank: int) -> None:
    """Without weights of xi its bias alone must fit the accumulator."""
    sums = draw_sums(np.random.default_rng(5), 300)
    head = random_head(BEFORE, AFTER, sums, rank)
    head = replace(head, xi_weights=np.zeros_like(head.xi_weights))
    real, integer = both(head, sums, sums)
    np.testing.assert_allclose(integer, real, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("rank", RANKS)
def test_a_head_that_predicts_nothing(rank: int) -> None:
    sums = draw_sums(np.random.default_rng(6), 300)
    head = random_head(BEFORE, AFTER, sums, rank)
    head = replace(
        head,
        projector=np.zeros_like(head.projector),
        mean_weights=np.zeros_like(head.mean_weights),
    )
    real, integer = both(head, sums, sums)
    np.testing.assert_allclose(integer, real, rtol=0.1, atol=0.02)


@given(st.integers(1, 256), st.integers(1, 256), st.integers(1, 256))
def test_folding_is_chosen_where_it_needs_no_more_weights(rank: int, c: int, d: int) -> None:
    with_projector = rank * c + 2 * d * rank
    folded = 2 * d * c
    assert folds(rank, c, d) == (folded <= with_projector)


@pytest.mark.parametrize("rank", RANKS)
def test_a_folded_head_has_no_projector(rank: int) -> None:
    sums = draw_sums(np.random.default_rng(7), 50)
    head = random_head(BEFORE, AFTER, sums, rank)
    integer = quantize_head(head, BEFORE, AFTER, sums["before"])
    fold = folds(rank, BEFORE.channels, AFTER.channels)
    assert integer.rank == (0 if fold else rank)
    assert integer.projector.shape == (integer.rank, BEFORE.channels)
    assert integer.mean_weights.shape == (AFTER.channels, BEFORE.channels if fold else rank)


def test_ranks_of_this_file_fold_and_do_not() -> None:
    assert {folds(rank, BEFORE.channels, AFTER.channels) for rank in RANKS} == {True, False}
