"""Resampling against scipy's bootstrap, and against what it must be by its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from snapcli.metrics.bootstrap import draw, draw_blocks, interval, measured, measured_together
from snapcli.metrics.calibration import weighted_mean


@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 5))
def test_every_row_holds_as_many_as_there_are(count: int, block: int, replicates: int) -> None:
    drawn = draw_blocks(count, block, replicates, seed=1)
    assert drawn.shape == (replicates, count)
    assert (drawn.sum(axis=1) == count).all()


@given(st.integers(2, 60), st.integers(1, 59))
def test_blocks_are_runs_of_their_length(count: int, block: int) -> None:
    (row,) = draw_blocks(count, block, 1, seed=0)
    # Around the circle, counts change only where a block begins or ends.
    changes = np.abs(np.diff(row.astype(int), append=row[0])).sum()
    assert changes <= 2 * -(-count // block)


def test_a_block_as_long_as_the_stream_is_the_stream() -> None:
    assert (draw_blocks(50, 50, 20, seed=0) == 1).all()
    assert (draw_blocks(50, 500, 20, seed=0) == 1).all()


def test_the_same_seed_draws_the_same() -> None:
    np.testing.assert_array_equal(draw(100, 5, seed=3), draw(100, 5, seed=3))
    assert (draw(100, 5, seed=3) != draw(100, 5, seed=4)).any()


def test_examples_are_drawn_as_a_multinomial() -> None:
    drawn = draw(10, 5000, seed=0).astype(float)
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=0.06)
    covariance = np.eye(10) - 1 / 10
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.1)


def test_the_spread_of_a_mean_is_that_of_the_block_means() -> None:
    rng = np.random.default_rng(0)
    values, block = np.cumsum(rng.normal(0, 1, 400)), 20
    around = np.concatenate([values, values[: block - 1]])
    means = np.convolve(around, np.full(block, 1 / block), "valid")
    drawn = weighted_mean(values, draw_blocks(400, block, 2000, seed=0))
    assert drawn.mean() == pytest.approx(values.mean(), abs=0.2)
    assert drawn.std() == pytest.approx(means.std() / np.sqrt(400 / block), rel=0.08)
    # Neighbours are alike here: single frames would promise far too much.
    assert weighted_mean(values, draw(400, 1000, seed=0)).std() < drawn.std() / 3


def test_the_interval_is_scipy_s() -> None:
    values = np.random.default_rng(0).exponential(1.0, 200)
    found = interval(*measured(lambda w: weighted_mean(values, w), draw(200, 4000, seed=0)))
    oracle = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(oracle.low, abs=0.01)
    assert found.high == pytest.approx(oracle.high, abs=0.01)


def test_replicates_that_are_undefined_do_not_count_unless_they_are_most() -> None:
    some = np.concatenate([np.arange(101.0), np.full(101, np.nan)])
    found = interval(7.0, some)
    assert (found.value, found.low, found.high) == (7.0, 2.5, 97.5)
    most = interval(7.0, np.append(some, np.nan))
    assert most.value == 7.0
    assert np.isnan([most.low, most.high]).all()
    undefined = interval(float("nan"), np.arange(10.0))
    assert np.isnan([undefined.value, undefined.low, undefined.high]).all()


@pytest.mark.parametrize("count", [1, 1000, 2**18 + 1, 2**20])
def test_parts_make_a_whole(count: int) -> None:
    """Also when a part is a single row, or all rows are one part."""
    weights = np.arange(5, dtype=np.uint8)[:, None] * np.ones(count, np.uint8)
    point, replicates = measured(lambda w: w.mean(axis=1, dtype=np.float64), weights)
    assert point == 1
    np.testing.assert_array_equal(replicates, np.arange(5))


def test_a_metric_never_sees_all_rows_of_much() -> None:
    seen = []

    def metric(weights: np.ndarray) -> np.ndarray:
        seen.append(weights.size)
        return weights[:, 0].astype(float)

    measured(metric, np.broadcast_to(np.uint8(1), (1000, 30_000)))
    assert sum(seen) == 1001 * 30_000
    assert 8 * max(seen) < 10e6  # bytes of one temporary


def test_several_metrics_at_once() -> None:
    values, weights = np.arange(6.0), draw(6, 10, seed=0)
    points, replicates = measured_together(
        lambda w: np.stack([weighted_mean(values, w), weighted_mean(values**2, w)]), weights
    )
    for k, power in enumerate((1, 2)):
        point, alone = measured(lambda w, p=power: weighted_mean(values**p, w), weights)
        assert points[k] == point
        np.testing.assert_array_equal(replicates[k], alone)
