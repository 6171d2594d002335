"""The float head against scipy's normal distribution."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from snapcli.heads.gaussian import Gaussian
from snapcli.heads.head import Head, load_heads, save_heads
from snapcli.heads.likelihood import variance

seeds = st.integers(0, 2**32 - 1)


def random_head(rng: np.random.Generator, before: int, after: int, rank: int) -> Head:
    return Head(
        before="a",
        after="b",
        before_mean=rng.normal(0, 2, before),
        before_deviation=rng.uniform(0.1, 3, before),
        after_mean=rng.normal(0, 2, after),
        after_deviation=rng.uniform(0.1, 3, after),
        projector=rng.normal(0, 0.5, (rank, before)),
        mean_weights=rng.normal(0, 0.5, (after, rank)),
        mean_bias=rng.normal(0, 1, after),
        xi_weights=rng.normal(0, 0.5, (after, rank)),
        xi_bias=rng.normal(0, 1, after),
        class_mean=np.zeros((0, after)),
        likelihood=Gaussian(),
    )


def activations(rng: np.random.Generator, head: Head) -> tuple[np.ndarray, np.ndarray]:
    """Around the head's own statistics."""
    before = rng.normal(head.before_mean, head.before_deviation, (20, len(head.before_mean)))
    after = rng.normal(head.after_mean, 2 * head.after_deviation, (20, len(head.after_mean)))
    return before, after


@given(seeds)
def test_surprisal_is_the_log_likelihood(seed: int) -> None:
    """-log p = d e / 2 + sum log sigma + d/2 log 2 pi: the paper's proposition."""
    rng = np.random.default_rng(seed)
    head = random_head(rng, 5, 7, 3)
    before, after = activations(rng, head)
    mean = head.latent(before) @ head.mean_weights.T + head.mean_bias
    sigma = np.sqrt(variance(head.xi(before)))
    standardized = (after - head.after_mean) / head.after_deviation
    oracle = -norm.logpdf(standardized, mean, sigma).sum(axis=-1)
    d = len(head.mean_bias)
    ours = head.surprisal(before, after) * d / 2 + np.log(sigma).sum(-1) + d / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(ours, oracle, rtol=1e-9)


@given(seeds)
def test_surprisal_does_not_see_units(seed: int) -> None:
    """Any per-channel scaling and shift of activations and statistics leaves e as it is."""
    rng = np.random.default_rng(seed)
    head = random_head(rng, 4, 6, 2)
    before, after = activations(rng, head)
    gains, shifts = zip(
        *((rng.uniform(0.01, 100, n), rng.normal(0, 10, n)) for n in (4, 6)), strict=True
    )
    scaled = replace(
        head,
        before_mean=gains[0] * head.before_mean + shifts[0],
        before_deviation=gains[0] * head.before_deviation,
        after_mean=gains[1] * head.after_mean + shifts[1],
        after_deviation=gains[1] * head.after_deviation,
    )
    moved = scaled.surprisal(gains[0] * before + shifts[0], gains[1] * after + shifts[1])
    np.testing.assert_allclose(moved, head.surprisal(before, after), rtol=1e-6)


def test_the_worked_example_of_the_docstring() -> None:
    one, zero = np.ones(1), np.zeros(1)
    head = Head(
        *("a", "b", zero, one, zero, one),
        projector=np.ones((1, 1)),
        mean_weights=np.full((1, 1), 2.0),
        mean_bias=zero,
        xi_weights=np.zeros((1, 1)),
        xi_bias=zero,
        class_mean=np.zeros((0, 1)),
        likelihood=Gaussian(),
    )
    (e,) = head.surprisal(np.array([[0.5]]), np.array([[1.5]]))
    assert e == pytest.approx(0.25 / np.log(2), rel=1e-6)
    assert round(e, 2) == 0.36


def test_surprisal_is_one_where_the_head_is_right() -> None:
    rng = np.random.default_rng(3)
    head = random_head(rng, 5, 8, 3)
    before = rng.normal(head.before_mean, head.before_deviation, (20_000, 5))
    mean = head.latent(before) @ head.mean_weights.T + head.mean_bias
    drawn = rng.normal(mean, np.sqrt(variance(head.xi(before))))
    after = head.after_mean + head.after_deviation * drawn
    # The mean of 160,000 squared normal numbers has a deviation of sqrt(2 / 160,000) = 0.0035.
    assert np.mean(head.surprisal(before, after)) == pytest.approx(1.0, abs=0.02)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_variance_grows_within_its_clamp(a: float, b: float) -> None:
    low, high = variance(np.array(sorted((a, b))))
    assert 1e-4 <= low <= high <= 100.0


def test_heads_survive_their_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    heads = [random_head(rng, 3 + i, 5 + i, 2) for i in range(5)]
    save_heads(heads, tmp_path / "heads.npz")
    again = load_heads(tmp_path / "heads.npz")
    assert len(again) == len(heads)
    for expected, found in zip(heads, again, strict=True):
        for name, value in vars(expected).items():
            np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)
