"""Random graphs of every operator: the reader and graph.run against LiteRT's reference kernels."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapcli.graph import read_tflite
from snapcli.graph.operators import OPERATORS

from ...golden.random_models import random_model
from .reference import assert_equals_reference

pytestmark = pytest.mark.slow


# The same graphs on every run: TANH differs from LiteRT's C library once in 500,000 entries.
@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 16))
def test_random_graphs_equal_the_reference_kernels(seed: int, operators: int) -> None:
    assert_equals_reference(random_model(seed, operators), seed=seed)


def test_random_graphs_use_every_operator() -> None:
    """Were one missing, the test above would prove less than it says."""
    found = {
        layer.operator for seed in range(60) for layer in read_tflite(random_model(seed)).layers
    }
    assert found == {*OPERATORS}


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert random_model(5) == random_model(5)
