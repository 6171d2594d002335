"""The tables against the real functions; the bits are proved in tests/golden."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import ConfigError
from snapcli.fixedpoint import (
    LutS8,
    Quantization,
    hard_swish_table,
    leaky_relu_table,
    logistic_table,
    lut_s8,
    relu_table,
    requantize_table,
    tanh_table,
)

EVERY = np.arange(-128, 128, dtype=np.int8)
zero_points = st.integers(-128, 127)
quantizations = st.builds(Quantization, st.floats(2**-8, 0.5, width=32), zero_points)


def assert_near(
    table: np.ndarray,
    function: Callable[[np.ndarray], np.ndarray],
    source: Quantization,
    to: Quantization,
    steps: float = 0.76,
) -> None:
    """Within two roundings, half of a step and at most half of a half, unless told."""
    real = source.scale * (EVERY.astype(float) - source.zero_point)
    exact = np.clip(function(real) / to.scale + to.zero_point, -128, 127)
    assert np.abs(lut_s8(LutS8(256, table), EVERY) - exact).max() < steps


@given(quantizations, quantizations)
def test_piecewise_linear_functions(source: Quantization, to: Quantization) -> None:
    assert_near(requantize_table(source, to), lambda real: real, source, to)
    assert_near(relu_table("relu", source, to), lambda real: np.maximum(real, 0), source, to)
    assert_near(leaky_relu_table(0.2, source, to), lambda r: np.maximum(r, 0.2 * r), source, to)


@given(quantizations, quantizations)
def test_relu6_stops_at_the_step_nearest_to_six(source: Quantization, to: Quantization) -> None:
    table = relu_table("relu6", source, to).astype(int)
    assert table.min() >= to.zero_point
    assert table.max() <= to.zero_point + 6 / to.scale + 0.51
    assert np.all(table <= relu_table("relu", source, to))


@given(quantizations, zero_points)
def test_sigmoids(source: Quantization, zero_point: int) -> None:
    to = Quantization(1 / 256, zero_point)
    assert_near(logistic_table(source, to), lambda r: 1 / (1 + np.exp(-r)), source, to)
    to = Quantization(1 / 128, zero_point)
    assert_near(tanh_table(source, to), np.tanh, source, to)


@given(quantizations, zero_points)
def test_hard_swish(source: Quantization, zero_point: int) -> None:
    """With 15 bits it is a step or so off; the output scale is one of the input's size."""
    to = Quantization(source.scale * 0.8, zero_point)

    def hard_swish(real: np.ndarray) -> np.ndarray:
        return real * np.clip(real + 3, 0, 6) / 6

    assert_near(hard_swish_table(source, to), hard_swish, source, to, steps=1.01)


@given(quantizations)
def test_to_the_same_quantization_is_the_identity(same: Quantization) -> None:
    np.testing.assert_array_equal(requantize_table(same, same), EVERY)


def test_scales_that_tflite_refuses_are_refused() -> None:
    fine, coarse = Quantization(1e-4, 0), Quantization(1.0, 0)
    with pytest.raises(ConfigError, match="logistic"):
        logistic_table(fine, coarse)
    with pytest.raises(ConfigError, match="hard swish"):
        hard_swish_table(coarse, fine)


@pytest.mark.parametrize("alpha", [1e38, -1e38, float("inf"), float("nan")])
def test_a_slope_that_no_multiplier_holds_is_refused(alpha: float) -> None:
    with pytest.raises(ConfigError, match="slope"):
        leaky_relu_table(alpha, Quantization(1e6, 0), Quantization(1e-6, 0))
