"""Shapes and batching; the values are proved in tests/golden."""

import numpy as np
import pytest

from snapcli.errors import ConfigError
from snapcli.fixedpoint import ConvS8, OutputS8, activation_range, conv, conv_s8, conv_window


def test_conv_window_matches_tensorflow() -> None:
    assert conv_window(8, 3, 2, 1, "same") == (4, 0)  # the odd padded element is at the end
    assert conv_window(7, 3, 2, 1, "same") == (4, 1)
    assert conv_window(7, 3, 1, 2, "same") == (7, 2)
    assert conv_window(7, 3, 2, 1, "valid") == (3, 0)


def test_conv_window_rejects_unknown_padding() -> None:
    with pytest.raises(ConfigError, match="full"):
        conv_window(7, 3, 1, 1, "full")


def test_activation_range_rejects_unknown_activation() -> None:
    with pytest.raises(ConfigError, match="tanh"):
        activation_range("tanh", 0.1, 0)


def test_activation_range_is_limited_to_int8() -> None:
    assert activation_range("none", 0.1, 3) == (-128, 127)
    assert activation_range("relu", 0.1, 3) == (3, 127)
    assert activation_range("relu6", 0.1, 3) == (3, 63)
    assert activation_range("relu6", 0.01, -128) == (-128, 127)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    out = OutputS8(
        np.zeros(3, np.int32), np.full(3, 2**30, np.int32), np.full(3, -6, np.int8), 0, -128, 127
    )
    weights = rng.integers(-127, 128, (3, 3, 3, 2)).astype(np.int8)
    layer = ConvS8(5, 5, 2, 5, 5, 3, 3, 3, 1, 1, 1, 1, 1, 1, 4, weights, out)
    x = rng.integers(-128, 128, (7, 5, 5, 2)).astype(np.int8)
    whole = conv_s8(layer, x)
    monkeypatch.setattr(conv, "CHUNK_ELEMENTS", 1000)
    np.testing.assert_array_equal(conv_s8(layer, x), whole)
