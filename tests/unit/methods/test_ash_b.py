"""ASH-B, written down again for one input at a time, and as the integer kernel has it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snapcli import fixedpoint as fx
from snapcli.methods.shaped_features import AshB, LastLayer
from tests.unit.made_evidence import last_layer, made_dev, made_evidence

features = st.tuples(st.integers(1, 4), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.int8, shape, elements=st.integers(-20, 100))
)


def ash_b(percentile: int, largest: float = float("inf")) -> AshB:
    layer = last_layer()
    method = AshB(LastLayer(layer.weights, layer.bias, largest))
    method.percentile_ = percentile
    return method


def one_shaped(row: list[float], kept: int) -> list[float]:
    first = sorted(range(len(row)), key=lambda i: (-row[i], i))[:kept]
    return [max(sum(row), 0.0) / kept if i in first else 0.0 for i in range(len(row))]


@given(features, st.sampled_from([65, 80, 90]))
def test_the_largest_share_the_sum(x: np.ndarray, percentile: int) -> None:
    method = ash_b(percentile)
    kept = method.kept(x.shape[1])
    assert kept == max(1, round(x.shape[1] * (100 - percentile) / 100))
    expected = [one_shaped(row.tolist(), kept) for row in x]
    np.testing.assert_allclose(method.shaped(x.astype(np.float64)), expected)


@given(features, st.sampled_from([65, 80, 90]))
def test_the_kernel_does_the_same_within_a_step(x: np.ndarray, percentile: int) -> None:
    """Also where a share is larger than int8 can be."""
    zero_point, count = -20, x.shape[1]
    method = ash_b(percentile, largest=float(127 - zero_point))
    shaped = method.shaped(x.astype(np.float64) - zero_point)
    integer = fx.ash_s8(fx.AshS8(count, method.kept(count), zero_point), x)
    assert np.abs(integer.astype(int) - zero_point - shaped).max() <= 0.5


def test_the_percentile_is_chosen_on_dev() -> None:
    method = AshB(last_layer())
    method.fit(made_evidence().train, made_dev())
    assert method.tuning_ is not None
    assert method.percentile_ == method.tuning_.chosen["percentile"]
    assert method.score(made_evidence().clean).shape == (len(made_evidence().clean),)
    assert method.tuning_.score == pytest.approx(max(_found(p) for p in (65, 70, 75, 80, 85, 90)))


def _found(percentile: int) -> float:
    from snapcli.methods.tuning import errors_auroc

    return errors_auroc(ash_b(percentile), made_dev())
