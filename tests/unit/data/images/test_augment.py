"""Variations of training images, against scipy, PIL and what they promise."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from snapcli.data.dataset import Raw, as_stored
from snapcli.data.images.augment import (
    AUGMENTS,
    affine,
    crop,
    cutout,
    flip,
    grey,
    jitter,
    resized_crop,
)
from tests.unit.data.corruptions.pictures import photos

UINT8, FLOAT = np.dtype(np.uint8), np.dtype(np.float32)
COUNT = 64


@cache
def images(side: int = 32, channels: int = 3, dtype: np.dtype = UINT8) -> Raw:
    """Read-only."""
    x = as_stored(photos(COUNT, side, channels), dtype)
    x.flags.writeable = False
    return x


class Fixed(np.random.Generator):
    """Draws what it is told, call by call, whatever is asked for."""

    def __init__(self, *draws: object) -> None:
        super().__init__(np.random.PCG64(0))
        self._draws = [np.asarray(draw) for draw in draws]

    def _next(self, size: object) -> np.ndarray:
        return np.broadcast_to(self._draws.pop(0), size).astype(float)  # type: ignore[call-overload]

    def uniform(self, low: object = 0, high: object = 1, size: object = None) -> np.ndarray:  # type: ignore[override]
        return self._next(size)

    def random(self, size: object = None) -> np.ndarray:  # type: ignore[override]
        return self._next(size)


# ---- What all of them keep ----------------------------------------------------

EACH = pytest.mark.parametrize("augment", AUGMENTS.values(), ids=AUGMENTS)
Augment = Callable[[Raw, np.random.Generator], Raw]


@EACH
@pytest.mark.parametrize("dtype", [UINT8, FLOAT], ids=str)
@pytest.mark.parametrize(("side", "channels"), [(28, 1), (32, 3), (33, 3)])
def test_kind_and_range_stay(augment: Augment, dtype: np.dtype, side: int, channels: int) -> None:
    x = images(side, channels, dtype)
    found = augment(x, np.random.default_rng(0))
    assert (found.shape, found.dtype) == (x.shape, x.dtype)
    assert found.min() >= 0
    assert found.max() <= (255 if dtype == UINT8 else 1)
    wide = augment(x[:, :20], np.random.default_rng(0))
    assert wide.shape == (COUNT, 20, side, channels)


@EACH
def test_the_same_seed_gives_the_same_and_another_one_does_not(augment: Augment) -> None:
    x = images()
    one, again, other = (augment(x, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes()
    assert one.tobytes() != x.tobytes()


@EACH
def test_every_image_varies_for_itself(augment: Augment) -> None:
    """Copies of one image become several."""
    x = np.repeat(images()[:1], COUNT, axis=0)
    assert len({image.tobytes() for image in augment(x, np.random.default_rng(0))}) > 1


@EACH
def test_no_images_are_no_problem(augment: Augment) -> None:
    assert augment(images()[:0], np.random.default_rng(0)).shape == (0, 32, 32, 3)


# ---- Turn and shift -----------------------------------------------------------


def turned(x: np.ndarray, degrees: float, down: float, right: float) -> np.ndarray:
    """scipy's: the output at p comes from R (p - middle) + middle + shift, 0 from outside."""
    angle = np.deg2rad(degrees)
    matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = (np.array(x.shape[:2]) - 1) / 2
    offset = middle - matrix @ middle + (down, right)
    planes = [
        ndimage.affine_transform(x[..., c].astype(float), matrix, offset, order=1, cval=0.0)
        for c in range(x.shape[2])
    ]
    return np.stack(planes, axis=-1)


def inside(x: np.ndarray, edge: int = 3) -> np.ndarray:
    """Without the border, where scipy does not blend with what is outside."""
    return x[:, edge:-edge, edge:-edge]


@pytest.mark.parametrize(("side", "channels"), [(28, 1), (32, 3), (31, 3)])
def test_affine_is_scipy_s(side: int, channels: int) -> None:
    x = images(side, channels, FLOAT)[:12]
    rng = np.random.default_rng(0)
    degrees, shift = rng.uniform(-10, 10, 12), rng.uniform(-2, 2, (2, 12))
    found = affine(x, Fixed(degrees, shift))
    expected = np.stack([turned(image, *p) for image, *p in zip(x, degrees, *shift, strict=True)])
    np.testing.assert_allclose(inside(found, 5), inside(expected, 5), atol=1e-4)


def test_a_turn_alone_is_scipy_s_rotation() -> None:
    x = images(28, 1, FLOAT)[:4]
    found = affine(x, Fixed(7.0, np.zeros((2, 1))))
    # To the other side: the range is the same on both.
    expected = ndimage.rotate(x, -7.0, axes=(1, 2), reshape=False, order=1)
    np.testing.assert_allclose(inside(found), inside(expected), atol=1e-4)


def test_whole_pixels_of_shift_move_pixels_and_bring_in_black() -> None:
    x = images(28, 1)[:3]
    found = affine(x, Fixed(0.0, [[2.0], [-1.0]]))
    np.testing.assert_array_equal(found[:, :-2, 1:], x[:, 2:, :-1])
    assert not found[:, -2:].any()
    assert not found[:, :, :1].any()


def test_no_turn_and_no_shift_change_nothing() -> None:
    np.testing.assert_array_equal(affine(images(), Fixed(0.0, np.zeros((2, 1)))), images())


def test_affine_draws_from_all_of_its_range_and_no_more() -> None:
    """By where two bright pixels go, one at each end of a line through the middle."""
    dots = np.zeros((500, 41, 41, 1), np.float32)
    dots[:, 20, [4, 36]] = 1.0
    moved = affine(dots, np.random.default_rng(0))[..., 0]
    left, right = (
        np.array([ndimage.center_of_mass(image) for image in half]) + np.array([0, start])
        for half, start in ((moved[:, :, :20], 0), (moved[:, :, 20:], 20))
    )
    down, across = (right - left).T
    turn = np.rad2deg(np.arctan2(down, across))
    assert np.abs(turn).max() <= 10.1
    assert turn.min() < -9.5
    assert turn.max() > 9.5
    # The shift is turned too: undone, each of its axes is within two pixels.
    angle = np.deg2rad(turn)
    y, x = ((left + right) / 2 - 20).T
    shift = np.stack([np.cos(angle) * y - np.sin(angle) * x, np.sin(angle) * y + np.cos(angle) * x])
    assert np.abs(shift).max() <= 2.1
    assert (np.abs(shift).max(axis=1) > 1.9).all()


# ---- Crop and flip ------------------------------------------------------------


@pytest.mark.parametrize("dtype", [UINT8, FLOAT], ids=str)
def test_a_crop_is_a_window_of_the_reflected_image(dtype: np.dtype) -> None:
    x = images(dtype=dtype)
    padded = np.pad(x, ((0, 0), (4, 4), (4, 4), (0, 0)), mode="reflect")
    places = set()
    for k, image in enumerate(crop(x, np.random.default_rng(0))):
        found = [
            (top, left)
            for top in range(9)
            for left in range(9)
            if np.array_equal(padded[k, top : top + 32, left : left + 32], image)
        ]
        assert len(found) == 1
        places.add(found[0])
    assert {top for top, _ in places} == {left for _, left in places} == set(range(9))


def test_a_flip_mirrors_about_half_exactly() -> None:
    x = np.concatenate([images()] * 8)
    found = flip(x, np.random.default_rng(0))
    mirrored = np.array([np.array_equal(a, b[:, ::-1]) for a, b in zip(found, x, strict=True)])
    same = np.array([np.array_equal(a, b) for a, b in zip(found, x, strict=True)])
    assert (mirrored ^ same).all()
    # Four deviations of a fair coin.
    assert abs(mirrored.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(x))


# ---- Colours ------------------------------------------------------------------

LUMA = np.array([0.299, 0.587, 0.114])


def test_jitter_alone_in_brightness_multiplies() -> None:
    x = images(dtype=FLOAT)
    factors = np.array([0.8, 1.2])[None, :, None, None, None]
    draws = np.concatenate([factors, np.ones((2, 2, 1, 1, 1))])
    found = jitter(x[:2], Fixed(draws))
    expected = np.clip(x[:2] * factors[0], 0, 1)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_jitter_alone_in_contrast_spreads_about_the_mean_luma() -> None:
    x = images(dtype=FLOAT)[:3] * 0.4 + 0.3  # so that nothing is cut off
    draws = np.array([1.0, 0.85, 1.0])[:, None, None, None, None]
    found = jitter(x, Fixed(draws))
    mean = (x @ LUMA).mean(axis=(1, 2))[:, None, None, None]
    np.testing.assert_allclose(found, mean + 0.85 * (x - mean), atol=1e-5)


def test_jitter_alone_in_saturation_keeps_the_luma() -> None:
    x = images(dtype=FLOAT)[:3] * 0.4 + 0.3
    for factor in (0.8, 1.2):
        found = jitter(x, Fixed(np.array([1.0, 1.0, factor])[:, None, None, None, None]))
        np.testing.assert_allclose(found @ LUMA, x @ LUMA, atol=1e-5)
        colour = x - (x @ LUMA)[..., None]
        np.testing.assert_allclose(found - (x @ LUMA)[..., None], factor * colour, atol=1e-5)


def test_jitter_draws_each_factor_within_a_fifth() -> None:
    drawn: list[tuple[float, float]] = []

    class CountingGenerator(np.random.Generator):
        def uniform(self, low: float, high: float, size: object) -> np.ndarray:  # type: ignore[override]
            drawn.append((low, high))
            return super().uniform(low, high, size)  # type: ignore[arg-type]

    flat = np.full((2_000, 2, 2, 3), 0.5, np.float32)
    found = jitter(flat, CountingGenerator(np.random.PCG64(0)))
    # A flat grey image has neither contrast nor colour: what is left is brightness.
    assert drawn == [(0.8, 1.2)]
    assert 0.4 <= found.min() < 0.405
    assert 0.595 < found.max() <= 0.6


@pytest.mark.parametrize("dtype", [UINT8, FLOAT], ids=str)
def test_jitter_gives_grey_no_colour(dtype: np.dtype) -> None:
    x = np.repeat(images(32, 1, dtype), 3, axis=-1)
    found = jitter(x, np.random.default_rng(0)).astype(float)
    assert np.ptp(found, axis=-1).max() <= (0 if dtype == UINT8 else 1e-6)
    one = jitter(images(32, 1, dtype), np.random.default_rng(0))
    np.testing.assert_allclose(found[..., :1], one, atol=1 if dtype == UINT8 else 1e-5)


def test_one_image_in_ten_becomes_the_grey_of_pil() -> None:
    x = np.concatenate([images()] * 10)
    found = grey(x, np.random.default_rng(0))
    changed = np.flatnonzero((found != x).any(axis=(1, 2, 3)))
    assert abs(len(changed) / len(x) - 0.1) < 4 * 0.3 / np.sqrt(len(x))
    for k in changed:
        expected = np.asarray(Image.fromarray(x[k]).convert("L"), float)
        np.testing.assert_allclose(
            found[k].astype(float), expected[..., None].repeat(3, -1), atol=1
        )


# ---- Cutout -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [UINT8, FLOAT], ids=str)
def test_cutout_blackens_one_square_of_half_the_height(dtype: np.dtype) -> None:
    x = np.full((600, 32, 32, 3), 1, dtype)
    sizes, corners = [], []
    for image in cutout(x, np.random.default_rng(0)):
        black = image[..., 0] == 0
        assert (image == np.where(black, 0, 1)[..., None]).all()
        rows, columns = np.flatnonzero(black.any(axis=1)), np.flatnonzero(black.any(axis=0))
        # A rectangle: all that lies in both its rows and its columns.
        assert black.sum() == len(rows) * len(columns)
        assert np.ptp(rows) + 1 == len(rows)
        assert np.ptp(columns) + 1 == len(columns)
        for found in (rows, columns):
            assert 8 <= len(found) <= 16
            assert len(found) == 16 or found[0] == 0 or found[-1] == 31
        sizes.append(len(rows))
        corners.append((rows[0], columns[-1]))
    assert max(sizes) == 16
    assert min(sizes) < 16
    assert {0, 23} <= {top for top, _ in corners}
    assert {8, 31} <= {right for _, right in corners}


# ---- A part at full size again ------------------------------------------------


def test_all_of_an_image_is_the_image() -> None:
    x = images()
    np.testing.assert_array_equal(resized_crop(x, Fixed(1.0, 0.5)), x)


@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("area", [0.8, 0.9])
def test_a_part_is_resized_as_pil_resizes_a_box(area: float, place: float) -> None:
    x = images(dtype=FLOAT)[:4]
    side = np.sqrt(area)
    found = resized_crop(x, Fixed(area, place))
    start = place * (1 - side) * 32
    box = (start, start, start + 32 * side, start + 32 * side)
    expected = np.stack(
        [
            np.stack(
                [
                    np.asarray(
                        Image.fromarray(image[..., c]).resize(
                            (32, 32), Image.Resampling.BILINEAR, box=box
                        )
                    )
                    for c in range(3)
                ],
                axis=-1,
            )
            for image in x
        ]
    )
    # At the border PIL leaves out what lies beyond the box.
    np.testing.assert_allclose(inside(found, 2), inside(expected, 2), atol=2e-3)


def test_parts_have_from_four_fifths_to_all_of_the_area() -> None:
    """By how steep a ramp comes out: side / 32 per pixel."""
    ramp = np.broadcast_to(np.arange(32, dtype=np.float32)[:, None, None] / 32, (500, 32, 32, 1))
    found = resized_crop(ramp, np.random.default_rng(0))
    slope = (found[:, 16, 16, 0] - found[:, 15, 16, 0]) * 32
    area = slope**2
    assert area.min() == pytest.approx(0.8, abs=0.01)
    assert area.max() == pytest.approx(1.0, abs=0.01)
    assert area.max() <= 1.0 + 1e-4
    # The part lies within the image, and anywhere in it.
    start = found[:, 16, 16, 0] * 32 - slope * 16.5 + 0.5
    assert start.min() > -1e-3
    assert (start + 32 * slope).max() < 32 + 1e-3
    assert start.max() > 2
