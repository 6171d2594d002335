"""Pooled sums and deviations against exact integers."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import pool_moments_s8, pool_sum_s8


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(-128, 127))
def test_moments_are_exact(seed: int, positions: int, zero_point: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, (3, positions, 4)) // rng.integers(1, 128, (3, 1, 4))
    total, spread = np.split(pool_moments_s8(x.astype(np.int8), zero_point), 2, axis=-1)
    np.testing.assert_array_equal(total, pool_sum_s8(x.astype(np.int8), zero_point))
    for sample, channel in np.ndindex(3, 4):
        centred = [int(q) - zero_point for q in x[sample, :, channel]]
        square = positions * sum(q * q for q in centred) - sum(centred) ** 2
        assert spread[sample, channel] == math.isqrt(square)


def test_a_deviation_has_the_unit_of_the_sum() -> None:
    x = np.random.default_rng(1).integers(-128, 128, (5, 9, 8, 3)).astype(np.int8)
    total, spread = np.split(pool_moments_s8(x, 7) / 72, 2, axis=-1)
    np.testing.assert_allclose(total, x.mean(axis=(1, 2)) - 7, atol=1e-9)
    np.testing.assert_allclose(spread, x.std(axis=(1, 2)), atol=1 / 72)


def test_the_largest_deviation_is_exact() -> None:
    """Near 2^62 a float64 has too few bits for the square."""
    positions = 2**20
    x = np.full((1, positions, 1), -128, np.int8)
    x[:, : positions // 2 - 1] = 127
    (total, spread) = pool_moments_s8(x, -128)[0]
    ones = positions // 2 - 1
    assert total == 255 * ones
    assert spread == math.isqrt(positions * 255**2 * ones - (255 * ones) ** 2)
