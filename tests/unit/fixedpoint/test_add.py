"""Sums, differences and products against real arithmetic; the bits are proved in tests/golden."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import ConfigError
from snapcli.fixedpoint import (
    AddS8,
    MulS8,
    add_multipliers,
    add_s8,
    mul_multiplier,
    mul_s8,
    sub_s8,
)

VALUES = np.arange(-128, 128, 5, dtype=np.int8)
X1, X2 = (grid.reshape(1, -1) for grid in np.meshgrid(VALUES, VALUES))
zero_points = st.integers(-128, 127)
scales = st.floats(2**-10, 1.0, width=32)


def addition(s1: float, z1: int, s2: float, z2: int, s3: float, z3: int) -> AddS8:
    lengths = (X1.size, X1.size, X2.size)
    return AddS8(*lengths, z1, z2, *add_multipliers(s1, s2, s3), z3, -128, 127)


def product(s1: float, z1: int, s2: float, z2: int, s3: float, z3: int) -> MulS8:
    lengths = (X1.size, X1.size, X2.size)
    return MulS8(*lengths, z1, z2, mul_multiplier(s1, s2, s3), z3, -128, 127)


def assert_near(actual: np.ndarray, real_steps: np.ndarray, zero_point: int) -> None:
    """Within the two roundings of requantize, half of a step and at most half of a half."""
    exact = np.clip(real_steps + zero_point, -128, 127)
    assert np.abs(actual - exact).max() < 0.76


@given(scales, zero_points, scales, zero_points, scales, zero_points)
def test_near_real_arithmetic(s1: float, z1: int, s2: float, z2: int, s3: float, z3: int) -> None:
    real1, real2 = s1 * (X1.astype(float) - z1), s2 * (X2.astype(float) - z2)
    layer = addition(s1, z1, s2, z2, s3, z3)
    assert_near(add_s8(layer, X1, X2), (real1 + real2) / s3, z3)
    assert_near(sub_s8(layer, X1, X2), (real1 - real2) / s3, z3)
    assert_near(mul_s8(product(s1, z1, s2, z2, s3, z3), X1, X2), real1 * real2 / s3, z3)


@given(scales, zero_points, scales, zero_points, scales, zero_points)
def test_sums_and_products_commute(
    s1: float, z1: int, s2: float, z2: int, s3: float, z3: int
) -> None:
    np.testing.assert_array_equal(
        add_s8(addition(s1, z1, s2, z2, s3, z3), X1, X2),
        add_s8(addition(s2, z2, s1, z1, s3, z3), X2, X1),
    )
    np.testing.assert_array_equal(
        mul_s8(product(s1, z1, s2, z2, s3, z3), X1, X2),
        mul_s8(product(s2, z2, s1, z1, s3, z3), X2, X1),
    )


@given(scales, zero_points, scales, zero_points)
def test_a_tensor_minus_itself_is_zero(s1: float, z1: int, s3: float, z3: int) -> None:
    assert np.all(sub_s8(addition(s1, z1, s1, z1, s3, z3), X1, X1) == z3)


def test_a_short_operand_repeats() -> None:
    x1, x2 = X1[:, :12], VALUES[np.newaxis, :3]
    layer = replace(addition(0.1, 3, 0.2, -4, 0.3, 1), length=12, in1_length=12, in2_length=3)
    wide = replace(layer, in2_length=12)
    np.testing.assert_array_equal(add_s8(layer, x1, x2), add_s8(wide, x1, np.tile(x2, 4)))


def test_a_constant_serves_the_whole_batch() -> None:
    x1 = X1[:, :12].reshape(3, 4)
    layer = replace(addition(0.1, 3, 0.2, -4, 0.3, 1), length=4, in1_length=4, in2_length=4)
    together = add_s8(layer, x1, x1[:1])
    np.testing.assert_array_equal(together[2:], add_s8(layer, x1[2:], x1[:1]))


def test_an_output_scale_that_tflite_cannot_reach_is_refused() -> None:
    with pytest.raises(ConfigError, match="too small"):
        add_multipliers(1.0, 1.0, 1e-7)
