"""Statistics of timed runs, against numpy's and against their own definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.metrics.timing import MOST_BINS, PERCENTILES, histogram, timing

STEP = 40
counts = st.lists(st.integers(0, 10_000_000), min_size=1, max_size=200).map(np.array)


@given(counts)
def test_mean_and_spread_are_numpys(values: np.ndarray) -> None:
    found = timing(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.deviation == pytest.approx(np.std(values))
    assert (found.minimum, found.maximum) == (values.min(), values.max())


@given(counts)
def test_a_percentile_is_the_smallest_measured_value_that_so_many_do_not_exceed(
    values: np.ndarray,
) -> None:
    found = timing(values).percentiles
    assert list(found) == [str(p) for p in PERCENTILES]
    for p in PERCENTILES:
        reached = sorted(
            v for v in values if np.count_nonzero(values <= v) * 100 >= p * len(values)
        )
        assert found[str(p)] == reached[0]


@given(counts, st.sampled_from([1, STEP]))
def test_every_value_is_in_one_bin(values: np.ndarray, step: int) -> None:
    values = values * step
    found = histogram(values, step)
    assert 1 <= len(found.counts) <= MOST_BINS
    assert len(found.edges) == len(found.counts) + 1
    widths = set(np.diff(found.edges))
    assert len(widths) == 1
    assert widths.pop() % step == 0
    assert found.counts == tuple(np.histogram(values, np.array(found.edges) - 0.5)[0])
    assert sum(found.counts) == len(values)
    assert found.counts[0] > 0
    assert found.counts[-1] > 0


def test_runs_that_all_take_the_same_time_are_one_bin() -> None:
    assert histogram(np.full(5, 800), STEP).counts == (5,)


def test_another_unit() -> None:
    cycles = timing(np.array([80, 160, 240]))
    us = cycles.scaled(1 / 80)
    assert (us.mean, us.minimum, us.maximum) == (2, 1, 3)
    assert us.deviation == pytest.approx(cycles.deviation / 80)
    assert us.percentiles["50"] == 2
    assert us.histogram.counts == cycles.histogram.counts
    assert us.histogram.edges[0] == 1
