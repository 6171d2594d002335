"""Tensor: what an int8 activation means."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.graph import Tensor


@given(st.floats(1e-4, 10.0), st.integers(-128, 127), st.floats(-1e3, 1e3))
def test_quantize_takes_the_nearest_step(scale: float, zero_point: int, real: float) -> None:
    tensor = Tensor("x", (1,), scale, zero_point)
    (q,) = tensor.quantize(np.array([real], np.float32))
    every = (np.arange(-128, 128) - zero_point) * scale
    # float32 division may choose the other of two steps that are as good as equally near.
    tolerance = 1e-6 * abs(real)
    assert abs(every[int(q) + 128] - real) <= np.abs(every - real).min() + tolerance


def test_every_step_survives_the_way_back() -> None:
    tensor = Tensor("x", (16, 16), 0.037, -11)
    steps = np.arange(-128, 128, dtype=np.int8)
    real = ((steps.astype(np.float32) + 11) * np.float32(0.037)).reshape(16, 16)
    np.testing.assert_array_equal(tensor.quantize(real).ravel(), steps)


def test_sizes() -> None:
    tensor = Tensor("x", (5, 4, 6), 0.1, 0)
    assert (tensor.size_bytes, tensor.channels, tensor.positions) == (120, 6, 20)
