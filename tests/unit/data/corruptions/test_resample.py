"""Reading between pixels, against scipy and what it promises."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from snapcli.data.corruptions.resample import bilinear

SMALL = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 3), st.integers(2, 6), st.integers(2, 6), st.integers(1, 3)),
    elements=st.floats(0, 1, width=32),
)


def places(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, height, width, _ = x.shape
    grid = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    rows, columns = (np.broadcast_to(g.astype(float), (n, height, width)) for g in grid)
    return rows, columns


@given(x=SMALL)
def test_whole_places_give_the_pixels(x: np.ndarray) -> None:
    np.testing.assert_array_equal(bilinear(x, *places(x)), x)


@given(x=SMALL)
def test_half_places_give_the_mean_of_their_neighbours(x: np.ndarray) -> None:
    rows, columns = (p[:, :-1, :-1] for p in places(x))
    upper, lower = x[:, :-1], x[:, 1:]
    left, right = (slice(None, -1), slice(1, None))
    down = (upper[:, :, left] + lower[:, :, left]) / 2
    np.testing.assert_allclose(bilinear(x, rows + 0.5, columns), down, atol=1e-6)
    four = (down + (upper[:, :, right] + lower[:, :, right]) / 2) / 2
    np.testing.assert_allclose(bilinear(x, rows + 0.5, columns + 0.5), four, atol=1e-6)


@given(x=SMALL, beyond=st.floats(0, 1e6))
def test_beyond_the_border_is_the_border(x: np.ndarray, beyond: float) -> None:
    rows, columns = places(x)
    height, width = x.shape[1:3]
    for at, row in ((-beyond, 0), (height - 1 + beyond, height - 1)):
        found = bilinear(x, np.full_like(rows, at), columns)
        np.testing.assert_array_equal(found, np.broadcast_to(x[:, row : row + 1], x.shape))
    for at, column in ((-beyond, 0), (width - 1 + beyond, width - 1)):
        found = bilinear(x, rows, np.full_like(columns, at))
        np.testing.assert_array_equal(found, np.broadcast_to(x[:, :, column][:, :, None], x.shape))


@given(x=SMALL, data=st.data())
def test_any_place_is_scipy_s(x: np.ndarray, data: st.DataObject) -> None:
    n, channels = x.shape[0], x.shape[3]
    anywhere = hnp.arrays(np.float64, (2, n, 3, 4), elements=st.floats(-2, 8, width=32))
    rows, columns = data.draw(anywhere)
    found = bilinear(x, rows, columns)
    assert found.dtype == np.float32
    for k in range(n):
        for c in range(channels):
            expected = ndimage.map_coordinates(
                x[k, ..., c], [rows[k], columns[k]], order=1, mode="nearest"
            )
            np.testing.assert_allclose(found[k, ..., c], expected, atol=1e-5)
