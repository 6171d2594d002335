"""What a softmax is; the bits are proved in tests/golden."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import ConfigError
from snapcli.fixedpoint import softmax_of, softmax_s8

logits = st.lists(st.integers(-128, 127), min_size=1, max_size=40)
scales = st.floats(2**-16, 8.0, width=32)


@given(logits, scales)
def test_near_real_arithmetic(values: list[int], scale: float) -> None:
    x = np.array([values], np.int8)
    real = np.exp((x.astype(float) - x.max()) * scale)
    exact = np.minimum(256 * real / real.sum() - 128, 127)
    actual = softmax_s8(softmax_of(1, len(values), scale, 1.0), x)
    assert np.abs(actual - exact).max() < 0.51


@given(logits, scales)
def test_a_larger_logit_is_never_less_likely(values: list[int], scale: float) -> None:
    x = np.sort(np.array([values], np.int8))
    likely = softmax_s8(softmax_of(1, len(values), scale, 1.0), x)
    assert np.all(likely[:, 1:] >= likely[:, :-1])


@given(st.lists(st.integers(-64, 63), min_size=1, max_size=9), st.integers(-64, 64), scales)
def test_only_differences_count(values: list[int], shift: int, scale: float) -> None:
    x = np.array([values, [value + shift for value in values]], np.int8)
    here, there = softmax_s8(softmax_of(1, len(values), scale, 1.0), x)
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("classes", [0, 4096])
def test_the_number_of_classes_is_limited(classes: int) -> None:
    with pytest.raises(ConfigError, match=str(classes)):
        softmax_of(1, classes, 0.1, 1.0)


def test_a_flat_softmax_is_refused() -> None:
    with pytest.raises(ConfigError, match="flat"):
        softmax_of(1, 10, 1e-9, 1.0)
