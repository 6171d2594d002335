"""Logits of few inputs, for property tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snapcli.methods.method import LOGITS, Batch


def logits(most: float = 50.0) -> st.SearchStrategy[np.ndarray]:
    """[n, classes]; no two of an input closer than rounding can tell."""
    numbers = st.integers(-1000, 1000).map(lambda k: k * most / 1000)
    shapes = st.tuples(st.integers(1, 6), st.integers(2, 5))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=numbers))


def of_logits(values: np.ndarray) -> Batch:
    return Batch({LOGITS: values}, np.zeros(len(values), np.int64))
