"""Entropy against the sum of its definition, and its ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import entr, softmax

from snapcli.methods.logits import Entropy
from tests.unit.methods.logits import logits, of_logits


@given(logits())
def test_it_is_scipys(z: np.ndarray) -> None:
    expected = entr(softmax(z, axis=-1)).sum(axis=-1)
    np.testing.assert_allclose(Entropy().score(of_logits(z)), expected, rtol=1e-9, atol=1e-14)


@given(logits(), st.floats(-100, 100))
def test_a_constant_added_to_all_logits_changes_nothing(z: np.ndarray, constant: float) -> None:
    found, shifted = (Entropy().score(of_logits(values)) for values in (z, z + constant))
    np.testing.assert_allclose(shifted, found, rtol=1e-9, atol=1e-13)


def test_equal_classes_know_nothing() -> None:
    sure, even = Entropy().score(of_logits(np.array([[30.0, 0, 0, 0], [2.0, 2, 2, 2]])))
    assert sure == pytest.approx(0.0, abs=1e-10)
    assert even == pytest.approx(np.log(4))
