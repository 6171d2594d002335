"""requantize against exact integer arithmetic written out as the specification says it."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.fixedpoint import (
    Multiplier,
    quantize_multiplier,
    quantize_multipliers,
    quantize_multipliers_shared,
    requantize,
    requantize_once,
)

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
int32s = st.integers(INT32_MIN, INT32_MAX) | st.integers(-1000, 1000)
mantissas = st.integers(0, INT32_MAX) | st.sampled_from([0, 1, 2**30, INT32_MAX])
shifts = st.integers(-31, 30)


def truncate(fraction: Fraction) -> int:
    return int(fraction)


def half_away(fraction: Fraction) -> int:
    return truncate(fraction + (Fraction(1, 2) if fraction >= 0 else Fraction(-1, 2)))


def specified(value: int, mantissa: int, shift: int) -> int:
    """SPEC 1.1, step by step, in exact arithmetic."""
    shifted = min(max(value * 2 ** max(shift, 0), INT32_MIN), INT32_MAX)
    product = shifted * mantissa
    high = truncate(Fraction(product + (2**30 if product >= 0 else 1 - 2**30), 2**31))
    return half_away(Fraction(high, 2 ** max(-shift, 0)))


@given(int32s, mantissas, shifts)
def test_requantize_is_as_specified(value: int, mantissa: int, shift: int) -> None:
    assert requantize(value, mantissa, shift) == specified(value, mantissa, shift)


@given(int32s, mantissas, shifts)
def test_requantize_once_rounds_the_exact_product(value: int, mantissa: int, shift: int) -> None:
    exact = half_away(Fraction(value) * mantissa * Fraction(2) ** (shift - 31))
    assert requantize_once(value, mantissa, shift) == min(max(exact, INT32_MIN), INT32_MAX)


@given(int32s, mantissas, st.integers(-31, 0))
def test_requantize_is_off_by_less_than_one(value: int, mantissa: int, shift: int) -> None:
    exact = Fraction(value) * mantissa * Fraction(2) ** (shift - 31)
    assert abs(int(requantize(value, mantissa, shift)) - exact) < 1


@given(int32s, int32s, mantissas, shifts)
def test_requantize_is_monotone(a: int, b: int, mantissa: int, shift: int) -> None:
    low, high = requantize([min(a, b), max(a, b)], mantissa, shift)
    assert low <= high


@given(st.floats(2.0**-31, 2.0**29))
def test_quantize_multiplier_keeps_31_bits(real: float) -> None:
    multiplier = quantize_multiplier(real)
    assert 2**30 <= multiplier.mantissa <= INT32_MAX
    assert -31 <= multiplier.shift <= 30
    back = Fraction(multiplier.mantissa) * Fraction(2) ** (multiplier.shift - 31)
    assert abs(back / Fraction(real) - 1) <= Fraction(1, 2**31)


def test_quantize_multiplier_at_its_limits() -> None:
    assert quantize_multiplier(0.0) == Multiplier(0, 0)
    assert quantize_multiplier(2.0**-33) == Multiplier(0, 0)
    assert quantize_multiplier(2.0**-32) == Multiplier(2**30, -31)
    assert quantize_multiplier(2.0**31) == Multiplier(INT32_MAX, 30)
    assert quantize_multiplier(1 - 2.0**-40) == Multiplier(2**30, 1)


reals = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=20)


@given(reals)
def test_quantize_multipliers_treats_each_alone(real: list[float]) -> None:
    mantissa, shift = quantize_multipliers(real)
    alone = [quantize_multiplier(r) for r in real]
    assert [Multiplier(*pair) for pair in zip(mantissa.tolist(), shift.tolist(), strict=True)] == (
        alone
    )


@given(reals)
def test_quantize_multipliers_shared_has_the_largest_ones_shift(real: list[float]) -> None:
    mantissa, shift = quantize_multipliers_shared(real)
    largest = quantize_multiplier(max(real))
    assert (int(mantissa.max()), shift) == (largest.mantissa, largest.shift)
    error = np.abs(mantissa * 2.0 ** (shift - 31) - real)
    assert np.all(error <= 2.0 ** (shift - 31))
