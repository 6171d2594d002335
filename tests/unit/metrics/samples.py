"""Small samples with ties, and rows of weights that are resamples of them."""

import numpy as np
from hypothesis import strategies as st

Sample = tuple[np.ndarray, np.ndarray, np.ndarray]


@st.composite
def samples(draw: st.DrawFn, most: int = 20) -> Sample:
    """(flag [n] bool, score [n] of few different values in [0, 1], weights [B, n])"""
    n = draw(st.integers(1, most))
    flag = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    score = draw(st.lists(st.integers(0, 8).map(lambda k: k / 8), min_size=n, max_size=n))
    row = st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)
    weights = draw(st.lists(row, min_size=1, max_size=4))
    return np.array(flag), np.array(score), np.array(weights, np.uint8)


def ones(n: int) -> np.ndarray:
    return np.ones((1, n), np.uint8)
