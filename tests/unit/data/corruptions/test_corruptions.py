"""What holds for every image corruption: its form, its seed, its severities."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from snapcli.data.corruptions import COMMON, MNIST, Corruption, Images

from .pictures import digits, photos

SEVERITIES = (1, 2, 3, 4, 5)
TYPES: dict[str, tuple[Corruption, Callable[[int, int, int], Images]]] = {
    **{f"common-{name}": (corruption, photos) for name, corruption in COMMON.items()},
    **{f"mnist-{name}": (corruption, digits) for name, corruption in MNIST.items()},
}
# These draw nothing.
STILL = {
    *("common-defocus_blur", "common-zoom_blur", "common-brightness", "common-contrast"),
    *("common-pixelate", "common-jpeg_compression"),
    *("mnist-scale", "mnist-brightness", "mnist-stripe", "mnist-canny_edges"),
}
# The published severities trade one harm for another: a wide warp for a fine one, rough glass
# for smooth glass.
TRADES = {"common-elastic_transform", "common-glass_blur", "mnist-glass_blur"}

every_type = pytest.mark.parametrize("name", TYPES)


def corrupted(name: str, x: Images, severity: int, seed: int = 5) -> Images:
    return TYPES[name][0](x, severity, np.random.default_rng(seed))


def test_the_common_types_are_those_of_the_benchmarks() -> None:
    assert list(COMMON) == [
        *("gaussian_noise", "shot_noise", "impulse_noise"),
        *("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
        *("snow", "frost", "fog", "brightness"),
        *("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    ]


def test_mnists_types_are_those_of_its_benchmark() -> None:
    assert list(MNIST) == [
        *("shot_noise", "impulse_noise", "glass_blur", "motion_blur", "shear", "scale", "rotate"),
        *("brightness", "translate", "stripe", "fog", "spatter", "dotted_line", "zigzag"),
        "canny_edges",
    ]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [28, 32, 64])
@every_type
def test_the_form_stays_and_the_input_too(name: str, side: int, channels: int) -> None:
    """The inputs are read-only: a corruption that writes to them fails here."""
    x = TYPES[name][1](4, side, channels)
    for severity in SEVERITIES:
        found = corrupted(name, x, severity)
        assert found.shape == x.shape
        assert found.dtype == np.float32
        assert found.min() >= 0.0
        assert found.max() <= 1.0
        assert not np.shares_memory(found, x)
        assert not np.array_equal(found, x)
        found += 1.0  # What comes back may be written to.


@pytest.mark.parametrize("shape", [(2, 20, 25, 1), (1, 96, 90, 3)])
@every_type
def test_other_sizes_work(name: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape, dtype=np.float32)
    for severity in SEVERITIES:
        found = corrupted(name, x, severity)
        assert found.shape == shape
        assert np.isfinite(found).all()
        assert not np.array_equal(found, x)


@pytest.mark.parametrize("value", [0.0, 1.0])
@every_type
def test_black_and_white_images_stay_in_range(name: str, value: float) -> None:
    x = np.full((2, 32, 32, 3), value, np.float32)
    for severity in SEVERITIES:
        found = corrupted(name, x, severity)
        assert found.min() >= 0.0
        assert found.max() <= 1.0


@every_type
def test_the_seed_decides_and_nothing_else(name: str) -> None:
    x = TYPES[name][1](4, 32, 3)
    for severity in SEVERITIES:
        np.random.seed(1)
        before = np.random.get_state()[1].tolist()  # type: ignore[index]
        first = corrupted(name, x, severity)
        assert np.random.get_state()[1].tolist() == before  # type: ignore[index]
        np.random.seed(2)
        np.testing.assert_array_equal(corrupted(name, x, severity), first)
        other = corrupted(name, x, severity, seed=6)
        assert np.array_equal(first, other) == (name in STILL)


@every_type
def test_images_of_a_batch_differ_in_their_draw(name: str) -> None:
    """The same image many times over: a type that draws, draws for each."""
    one = TYPES[name][1](2, 32, 3)[1:]
    found = corrupted(name, one.repeat(12, axis=0), 3)
    different = len({image.tobytes() for image in found})
    # Signs and directions have few values to draw from.
    assert different == 1 if name in STILL else different >= 2


@every_type
def test_an_image_knows_nothing_of_its_neighbours(name: str) -> None:
    x = TYPES[name][1](4, 32, 3)
    changed = x.copy()
    changed[3] = 1.0 - x[3]
    for severity in SEVERITIES:
        a, b = corrupted(name, x, severity), corrupted(name, changed, severity)
        np.testing.assert_allclose(a[:3], b[:3], atol=1e-6)


@every_type
def test_two_threads_find_what_one_finds(name: str) -> None:
    x = TYPES[name][1](8, 28, 1)

    def work(severity: int) -> Images:
        return corrupted(name, x, severity)

    with ThreadPoolExecutor(2) as pool:
        for together, alone in zip(pool.map(work, SEVERITIES), map(work, SEVERITIES), strict=True):
            np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(("side", "channels"), [(28, 1), (32, 3), (64, 1)])
@pytest.mark.parametrize("name", [name for name in TYPES if name not in TRADES])
def test_harm_grows_with_severity(name: str, side: int, channels: int) -> None:
    x = TYPES[name][1](60, side, channels)
    harm = [float(np.abs(corrupted(name, x, s) - x).mean()) for s in SEVERITIES]
    assert harm == sorted(set(harm))


@pytest.mark.parametrize("severity", [0, 6])
@every_type
def test_there_are_five_severities(name: str, severity: int) -> None:
    with pytest.raises(ValueError, match=f"severity {severity} is not one of 1 to 5"):
        corrupted(name, TYPES[name][1](1, 32, 3), severity)
