"""Groups of equal scores against sums over everything that is not above them."""

import numpy as np
import pytest
from hypothesis import given

from snapcli.metrics.ties import before, first_reaching, grouped
from tests.unit.metrics.samples import Sample, samples


@given(samples())
def test_sums_are_over_all_scores_up_to_each(sample: Sample) -> None:
    _, score, weights = sample
    groups = grouped(score)
    values = np.unique(score)
    expected = [[row[score <= value].sum() for value in values] for row in weights]
    for kind in (np.uint8, np.float64):
        found = groups.cumulated(groups.ordered(weights.astype(kind)))
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
    earlier = [[row[score < value].sum() for value in values] for row in weights]
    np.testing.assert_array_equal(before(found), earlier)


def test_counts_do_not_run_over() -> None:
    score = np.zeros(1000)
    groups = grouped(score)
    weights = np.full((2, 1000), 255, np.uint8)
    assert (groups.cumulated(groups.ordered(weights)) == 255_000).all()


@pytest.mark.parametrize(("share", "at"), [(0.1, 0), (0.2, 0), (0.21, 1), (0.8, 2), (1.0, 3)])
def test_the_first_that_reaches_a_share(share: float, at: int) -> None:
    assert first_reaching(np.array([[1.0, 2.0, 4.0, 5.0]]), share) == at
