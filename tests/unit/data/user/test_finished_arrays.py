"""An .npz of inputs that are ready, or of raw images and sounds."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.data.corruptions import COMMON
from snapcli.data.wanted import Wanted
from snapcli.errors import ArtifactError, ConfigError, UsageError
from snapcli.graph.graph import Tensor
from tests.unit.data.user.given import (
    FRUIT,
    KEYWORDS,
    PIXELS,
    RATE,
    SIDE,
    SIGNED,
    everything,
    inputs,
    labels,
    load,
    npz,
    order,
    position,
    refused,
    wave,
)


def images(count: int = 60, shape: tuple[int, ...] = (SIDE, SIDE, 3), seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), np.uint8)


# ---- Inputs that are ready ----------------------------------------------------


@pytest.mark.parametrize("shape", [(128, 3), (640,), (49, 10, 1), (8, 8, 3), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_inputs_of_any_rank_are_used_as_they_are(
    tmp_path: Path, shape: tuple[int, ...], dtype: type
) -> None:
    x = inputs(shape=shape).astype(dtype)
    dataset = load(npz(tmp_path, x=x, y=labels()), Wanted(shape, 3, 2 / 255, 0))
    assert dataset.name == "mine"
    assert dataset.labelled
    assert (dataset.corruptions, dataset.identity, dataset.notes) == ({}, None, ())
    found = everything(dataset)
    assert len(found) == 60
    for origin, (label, raw) in found.items():
        assert label == position(origin) % 3
        made = dataset.front_end(raw[None])
        assert made.dtype == np.float32
        np.testing.assert_array_equal(made[0], x[position(origin)].astype(np.float32))


@pytest.mark.parametrize(
    ("scale", "zero_point"), [(2 / 255, 0), (0.58369, 83), (1.0, -128), (3e-5, 127), (0.1, -7)]
)
def test_quantized_inputs_come_back_bit_for_bit(
    tmp_path: Path, scale: float, zero_point: int
) -> None:
    """All 256 values, through the real numbers that stand for them."""
    x = np.resize(np.arange(-128, 128).astype(np.int8), (60, 8, 2, 16))
    dataset = load(npz(tmp_path, x=x), Wanted((8, 2, 16), 3, scale, zero_point))
    tensor = Tensor("input", (8, 2, 16), scale, zero_point)
    for split in (dataset.train, dataset.dev, dataset.test):
        at = [position(origin) for origin in split.origins]
        np.testing.assert_array_equal(tensor.quantize(dataset.front_end(split.x)), x[at])


def test_quantized_inputs_mean_nothing_to_a_keras_model(tmp_path: Path) -> None:
    path = npz(tmp_path, x=inputs().astype(np.int8))
    assert "floats" in refused(ConfigError, "int8, but a Keras model", path, Wanted((6, 4), 3))


def test_inputs_without_labels(tmp_path: Path) -> None:
    dataset = load(npz(tmp_path, x=inputs()), SIGNED)
    assert not dataset.labelled
    assert dataset.class_names == ("0", "1", "2")
    assert {y for y, _ in everything(dataset).values()} == {0}
    assert [len(dataset.split(s)) for s in ("train", "dev", "test")] == [36, 12, 12]


def test_the_splits_are_stratified_and_always_the_same(tmp_path: Path) -> None:
    path = npz(tmp_path, x=inputs(100), y=np.repeat([0, 1, 2], [50, 30, 20]))
    dataset = load(path, SIGNED)
    for split, counts in (
        ("train", [30, 18, 12]),
        ("dev", [10, 6, 4]),
        ("test", [10, 6, 4]),
    ):
        assert list(np.bincount(dataset.split(split).y)) == counts
    assert order(load(path, SIGNED, seed=5)) == order(dataset)


def test_a_division_is_kept_and_what_is_lacking_is_set_apart(tmp_path: Path) -> None:
    x = {"train": inputs(60, seed=1), "test": inputs(9, seed=2)}
    given = {f"x_{part}": array for part, array in x.items()}
    given |= {f"y_{part}": labels(len(array)) for part, array in x.items()}
    dataset = load(npz(tmp_path, **given), SIGNED)
    assert [str(o) for o in dataset.test.origins] == [f"test/{i}" for i in range(9)]
    np.testing.assert_array_equal(dataset.test.x, x["test"])
    assert {str(o).split("/")[0] for o in dataset.dev.origins} == {"train"}
    assert len(everything(dataset)) == 69


def test_foreign_inputs_are_kept_apart(tmp_path: Path) -> None:
    foreign = inputs(7, seed=1)
    dataset = load(npz(tmp_path, x=inputs(), ood=foreign), SIGNED)
    np.testing.assert_array_equal(dataset.ood["ood"], foreign)
    assert len(everything(dataset)) == 60


# ---- Labels -------------------------------------------------------------------


def test_names_of_classes_come_with_the_arrays_or_from_labels(tmp_path: Path) -> None:
    path = npz(tmp_path, x=inputs(), y=labels(), class_names=np.array(FRUIT))
    assert load(path, SIGNED).class_names == FRUIT
    assert load(path, SIGNED, labels="a,b,c").class_names == ("a", "b", "c")


@pytest.mark.parametrize("as_bytes", [False, True])
def test_labels_may_be_names(tmp_path: Path, as_bytes: bool) -> None:
    y = np.array(FRUIT)[labels()]
    path = npz(tmp_path, x=inputs(), y=y.astype("S") if as_bytes else y)
    assumed = load(path, SIGNED)
    assert assumed.class_names == FRUIT
    assert any("in this order" in note for note in assumed.notes)
    dataset = load(path, SIGNED, labels="PLUM,Pear,apple")
    for origin, (label, _) in everything(dataset).items():
        assert label == 2 - position(origin) % 3


def test_answers_beside_the_arrays(tmp_path: Path) -> None:
    path = npz(tmp_path, x=inputs())
    np.save(tmp_path / "y.npy", labels())
    dataset = load(path, SIGNED, labels=str(tmp_path / "y.npy"))
    assert dataset.labelled
    for origin, (label, _) in everything(dataset).items():
        assert label == position(origin) % 3
    np.save(tmp_path / "y.npy", labels(59))
    refused(
        ConfigError,
        r"y\.npy has 60 examples but 59 labels",
        path,
        SIGNED,
        labels=str(tmp_path / "y.npy"),
    )


def test_answers_that_have_no_place_are_told(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", labels())
    (tmp_path / "rows.csv").write_text("a,1\n")
    for arrays, given in (
        ({"x": inputs(), "y": labels()}, "y.npy"),
        ({"x_train": inputs(), "x_test": inputs()}, "y.npy"),
        ({"x": inputs()}, "rows.csv"),
    ):
        path = npz(tmp_path, **arrays)
        refused(ConfigError, f"{given} does not fit", path, SIGNED, labels=str(tmp_path / given))


# ---- Raw images and sounds ----------------------------------------------------


@pytest.mark.parametrize(
    ("front_end", "scale", "zero_point", "low", "high"),
    [
        ("", 1.0, -128, 0, 255),
        ("", 1 / 255, -128, 0, 1),
        ("", 2 / 255, 0, -1, 1),
        ("unit", None, None, 0, 1),
    ],
)
def test_bytes_are_images_that_a_front_end_takes(
    tmp_path: Path,
    front_end: str,
    scale: float | None,
    zero_point: int | None,
    low: float,
    high: float,
) -> None:
    x = images()
    wanted = Wanted((SIDE, SIDE, 3), 3, scale, zero_point)
    dataset = load(npz(tmp_path, x=x, ood=x[:5]), wanted, front_end=front_end)
    at = [position(origin) for origin in dataset.train.origins]
    assert dataset.train.x.dtype == np.uint8
    np.testing.assert_allclose(
        dataset.front_end(dataset.train.x), low + x[at] / 255 * (high - low), atol=1e-5 * high
    )
    assert dataset.front_end(dataset.ood["ood"]).shape == (5, SIDE, SIDE, 3)


def test_grey_images_need_no_axis_for_their_channel(tmp_path: Path) -> None:
    wanted = Wanted((SIDE, SIDE, 1), 3, 1.0, -128)
    dataset = load(npz(tmp_path, x=images(shape=(SIDE, SIDE))), wanted, augment_dev=True)
    assert dataset.train.x.shape[1:] == (SIDE, SIDE, 1)
    assert list(dataset.corruptions) == list(COMMON)


def test_bytes_of_another_shape_are_no_images(tmp_path: Path) -> None:
    x = images(shape=(128, 3))
    dataset = load(npz(tmp_path, x=x), Wanted((128, 3), 3, 1.0, -128))
    assert dataset.front_end(dataset.dev.x).shape == (12, 128, 3)
    refused(
        ConfigError,
        "--augment-dev",
        tmp_path / "mine.npz",
        Wanted((128, 3), 3, 1.0, -128),
        augment_dev=True,
    )


@pytest.mark.parametrize(("rate", "seconds"), [(RATE, 1.0), (8_000, 1.0), (RATE, 0.5)])
def test_sounds_are_brought_to_a_second(tmp_path: Path, rate: int, seconds: float) -> None:
    x = np.stack([wave((500, 1500)[i % 2] + i, seconds, rate) for i in range(50)])
    given = {} if rate == RATE else {"sample_rate": rate}
    dataset = load(npz(tmp_path, x=x, y=labels(50, 2), **given), KEYWORDS)
    for origin, (label, clip) in everything(dataset).items():
        assert (clip.shape, clip.dtype) == ((RATE,), np.int16)
        loudest = np.argmax(np.abs(np.fft.rfft(clip.astype(float))))
        assert loudest == pytest.approx((500, 1500)[label] + position(origin), abs=2)
    assert dataset.front_end(dataset.dev.x).shape[1:] == (49, 10, 1)
    assert dataset.identity is not None
    assert any("no sample_rate" in note for note in dataset.notes) == (rate == RATE)


# ---- Mistakes -----------------------------------------------------------------


def with_value(value: float) -> np.ndarray:
    x = inputs()
    x[41, 2, 3] = value
    return x


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": labels()}, "has the arrays y"),
        ({}, "has the arrays none"),
        ({"x": inputs(), "x_train": inputs()}, "has the arrays x, x_train"),
        ({"x_dev": inputs(), "x_test": inputs()}, "has the arrays x_dev, x_test"),
        ({"x": inputs(), "y": labels(59)}, "60 examples but 59 labels"),
        ({"x": inputs(), "y": np.eye(3, dtype=int)[labels()]}, "60 examples but 180 labels"),
        ({"x": inputs(), "y": labels() / 1.0}, "labels of float64"),
        ({"x": inputs(), "y": labels() + 1}, "the label 3, the model's outputs are 0 to 2"),
        ({"x": inputs(), "y": labels() - 1}, "the label -1"),
        ({"x": inputs(), "y": np.array(["a", "b"])[labels() % 2]}, "2 classes, the model"),
        ({"x_train": inputs(), "x_test": inputs(), "y_test": labels()}, "labels of test only"),
        ({"x": inputs(), "class_names": np.array(["a", "b"])}, "class_names of .* names 2"),
        ({"x": inputs(), "class_names": np.array(["a", "b", "B"])}, "names 'B' twice"),
        ({"x": with_value(np.nan)}, "not numbers"),
        ({"x": with_value(np.inf)}, "not numbers"),
        ({"x": inputs().astype(np.float64) * 1e300}, "not numbers"),
        ({"x": inputs(), "ood": with_value(np.nan)}, "not numbers"),
        ({"x": inputs(), "ood": inputs(5, (4, 6))}, r"several kinds: \(60, 6, 4\) of float32, \(5"),
        ({"x": inputs(), "ood": images(5, (6, 4))}, "several kinds: .* of uint8"),
        ({"x_train": inputs(), "x_test": inputs(9, (3, 3))}, "several kinds"),
        ({"x": inputs().astype(np.int64)}, r"\(60, 6, 4\) of int64"),
        ({"x": inputs() > 0}, r"\(60, 6, 4\) of bool"),
        ({"x": inputs().astype(np.complex64)}, "complex64"),
        ({"x": inputs().astype(np.int16)}, r"\(60, 6, 4\) of int16"),
        ({"x": inputs()[:, :, 0].astype(np.int16)}, r"\(60, 6\) of int16"),
        ({"x": inputs()[:, 0, 0]}, r"\(60,\) of float32"),
        ({"x": np.float32(3)}, r"\(\) of float32"),
        ({"x": inputs()[:0]}, r"\(0, 6, 4\) of float32"),
        ({"x": inputs(49)}, "mine has 49 examples"),
        ({"x_train": inputs(49), "x_test": inputs(50), "x_dev": inputs(0)}, r"\(0, 6, 4\)"),
        ({"x": inputs(60, (4, 6))}, r"inputs are \[4, 6\], the model takes \[6, 4\]"),
        ({"x": inputs() * 255}, r"the model expects int8 with scale 0\.0078"),
        ({"x": inputs(), "sample_rate": 3}, "sample_rate 3"),
    ],
)
def test_arrays_that_mean_nothing_are_told(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    refused(ConfigError, message, npz(tmp_path, **arrays), SIGNED)


def test_images_that_no_front_end_fits_are_told(tmp_path: Path) -> None:
    path = npz(tmp_path, x=images())
    hint = refused(UsageError, "a Keras model", path, Wanted(PIXELS.shape, 3))
    assert "--front-end" in hint
    refused(UsageError, "scale 0.7 and zero point 11", path, Wanted(PIXELS.shape, 3, 0.7, 11))
    refused(ConfigError, r"\[10, 10, 3\]", path, Wanted((SIDE, SIDE, 1), 3, 1.0, -128))


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_inputs_that_are_ready_take_no_front_end(tmp_path: Path, dtype: type) -> None:
    path = npz(tmp_path, x=inputs().astype(dtype))
    hint = refused(ConfigError, "--front-end unit is for images", path, SIGNED, front_end="unit")
    assert "uint8" in hint


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_inputs_that_are_ready_cannot_be_corrupted(tmp_path: Path, dtype: type) -> None:
    path = npz(tmp_path, x=(100 * inputs()).astype(dtype))
    wanted = Wanted((6, 4), 3, 1.0, 0)
    load(path, wanted)
    hint = refused(ConfigError, "--augment-dev needs images or", path, wanted, augment_dev=True)
    assert "uint8" in hint
    assert "--front-end" in hint


class Runs:
    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("place", ["x", "y", "class_names", "extra"])
def test_objects_are_refused_and_do_not_run(tmp_path: Path, place: str) -> None:
    evil = np.array([Runs(tmp_path / "ran")] * 60, dtype=object)
    path = npz(tmp_path, **{"x": inputs(), place: evil})
    refused(ArtifactError, "cannot be read: it holds objects", path, SIGNED)
    assert not (tmp_path / "ran").exists()


def test_what_is_no_npz_is_refused(tmp_path: Path) -> None:
    path = npz(tmp_path, x=inputs())
    for content in (b"", b"text", path.read_bytes()[:-30]):
        path.write_bytes(content)
        refused(ArtifactError, "cannot be read", path, SIGNED)
