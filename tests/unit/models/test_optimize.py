"""Learning rate over time, and weight decay."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.config import TrainOptions
from snapcli.models.optimize import learning_rate, with_weight_decay


@given(st.integers(2, 300), st.integers(0, 20), st.floats(0.0, 0.5), st.floats(1e-4, 1.0))
def test_the_rate_rises_then_falls_to_its_end(
    epochs: int, warmup: int, low: float, peak: float
) -> None:
    warmup = min(warmup, epochs - 1)
    options = TrainOptions(epochs=epochs, warmup=warmup, decay_to=low, learning_rate=peak)
    rates = [learning_rate(options, e) for e in np.linspace(0, epochs, 50 * epochs + 1)]
    top = 50 * warmup
    assert all(a < b for a, b in pairwise(rates[: top + 1]))
    assert all(a >= b - 1e-15 for a, b in pairwise(rates[top:]))
    assert rates[top] == pytest.approx(peak)
    assert rates[-1] == pytest.approx(peak * low, abs=1e-12)
    assert rates[0] > 0


def test_the_cosine_is_half_way_down_in_the_middle() -> None:
    options = TrainOptions(epochs=10, learning_rate=1.0, decay_to=0.0)
    assert learning_rate(options, 5.0) == pytest.approx(0.5)
    assert learning_rate(options, 2.5) == pytest.approx((1 + np.sqrt(0.5)) / 2)


class Weights:
    def __init__(self, name: str, value: float) -> None:
        self.name, self.value = name, value

    def __rmul__(self, factor: float) -> float:
        return factor * self.value


def test_decay_pulls_kernels_and_nothing_else() -> None:
    variables = [Weights(f"a/{kind}:0", 2.0) for kind in ("kernel", "depthwise_kernel", "gamma")]
    options = TrainOptions(optimizer="sgd", weight_decay=0.25)
    assert with_weight_decay(options, [1.0, 1.0, 1.0], variables) == [1.5, 1.5, 1.0]
    for other in (TrainOptions(optimizer="sgd"), TrainOptions(optimizer="adamw", weight_decay=1.0)):
        assert with_weight_decay(other, [1.0, 1.0, 1.0], variables) == [1.0, 1.0, 1.0]
