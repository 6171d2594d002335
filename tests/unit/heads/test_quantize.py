"""quantize_head: the surprisal of the device follows the float one, for every kind of head."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from snapcli import fixedpoint as fx
from snapcli.errors import ConfigError
from snapcli.graph import Tensor
from snapcli.heads.head import Head
from snapcli.heads.mixture import EnergyMixture, Mixture
from snapcli.heads.quantize import folds, quantize_head

from ..tiny_monitor import LIKELIHOODS, random_head

BEFORE = Tensor("before", (6, 5, 12), 0.031, -128)
AFTER = Tensor("after", (6, 5, 16), 0.022, -100)
RANKS = (1, 4, 12)
CLASSES = 7


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
    """(float, device) surprisal of the judged sums; ranges come from the clean ones."""
    predicted = np.arange(len(judged["before"]), dtype=np.int32) % CLASSES
    real = head.surprisal(
        *(judged[t.name] * (t.scale / t.positions) for t in (BEFORE, AFTER)), predicted
    )
    device = quantize_head(head, BEFORE, AFTER, clean["before"])
    return real, fx.surprisal_q16(device, judged["before"], judged["after"], predicted) / 65536


@pytest.mark.parametrize("classes", [0, CLASSES])
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("kind", LIKELIHOODS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_device_ranks_like_float(kind: str, rank: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sums = draw_sums(rng, 400)
    head = random_head(BEFORE, AFTER, sums, rank, seed, kind, classes)
    real, device = both(head, sums, sums)
    assert spearmanr(real, device).statistic > 0.99
    np.testing.assert_allclose(device, real, rtol=0.1, atol=0.02)


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
    integer = quantize_head(head, BEFORE, AFTER, sums["before"]).residual
    fold = folds(rank, BEFORE.channels, AFTER.channels)
    assert integer.rank == (0 if fold else rank)
    assert integer.projector.shape == (integer.rank, BEFORE.channels)
    assert integer.mean_weights.shape == (AFTER.channels, BEFORE.channels if fold else rank)


@pytest.mark.parametrize("rank", RANKS)
def test_a_mixture_folds_by_all_of_its_rows(rank: int) -> None:
    sums = draw_sums(np.random.default_rng(8), 50)
    head = random_head(BEFORE, AFTER, sums, rank, kind="mixture")
    device = quantize_head(head, BEFORE, AFTER, sums["before"])
    rows = head.likelihood.components * AFTER.channels
    assert device.residual.rows == rows
    assert (device.residual.rank == 0) == folds(rank, BEFORE.channels, rows)
    assert isinstance(device.energy, EnergyMixture)
    assert device.energy.weights.shape == (head.likelihood.components, device.residual.inputs)


def test_without_class_means_the_class_does_not_matter() -> None:
    sums = draw_sums(np.random.default_rng(9), 50)
    for classes, matters in ((0, False), (CLASSES, True)):
        head = random_head(BEFORE, AFTER, sums, 4, classes=classes)
        device = quantize_head(head, BEFORE, AFTER, sums["before"])
        first, second = (
            fx.surprisal_q16(device, *sums.values(), np.full(50, k, np.int32)) for k in (0, 1)
        )
        assert np.any(first != second) == matters


@pytest.mark.parametrize("what", ["before", "after", "components"])
def test_a_head_too_large_for_the_device_is_named(what: str) -> None:
    wide = {"before": 257, "after": 2049}.get(what, 3)
    before = Tensor("before", (1, 1, wide if what == "before" else 3), 0.1, 0)
    after = Tensor("after", (1, 1, wide if what == "after" else 3), 0.1, 0)
    rng = np.random.default_rng(1)
    sums = {
        t.name: rng.integers(-99, 99, (20, t.channels)).astype(np.int32) for t in (before, after)
    }
    head = random_head(before, after, sums, 1)
    if what == "components":
        head = replace(head, likelihood=Mixture(np.zeros((9, 1)), np.zeros(9)))
    with pytest.raises(ConfigError, match=r"the head of after has \d+ .*: the device takes"):
        quantize_head(head, before, after, sums["before"])


def test_ranks_of_this_file_fold_and_do_not() -> None:
    assert {folds(rank, BEFORE.channels, AFTER.channels) for rank in RANKS} == {True, False}
