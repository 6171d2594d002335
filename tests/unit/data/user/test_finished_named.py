"""Data sets by name: a finished model may be judged on their test examples only."""

from pathlib import Path

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.dataset import UNGRADED
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError
from tests.unit.data import layouts
from tests.unit.data.user.given import load, order, refused

DIGITS = Wanted((16, 16, 1), 10, 1 / 255, -128)
MNIST = Wanted((28, 28, 1), 10, 1 / 255, -128)


@pytest.fixture(scope="module")
def official() -> Dataset:
    return load_dataset(TrainOptions(dataset="digits"))


def test_dev_and_test_are_the_two_halves_of_the_test_examples(official: Dataset) -> None:
    dataset = load("digits", DIGITS)
    assert (dataset.name, dataset.labelled) == ("digits", True)
    for found, given in (
        (dataset.train, official.train),
        (dataset.dev, official.test.take(np.arange(0, len(official.test), 2))),
        (dataset.test, official.test.take(np.arange(1, len(official.test), 2))),
    ):
        np.testing.assert_array_equal(found.origins, given.origins)
        np.testing.assert_array_equal(found.x, given.x)
        np.testing.assert_array_equal(found.y, given.y)
    assert set(dataset.ood) == set(official.ood)
    assert order(load("digits", DIGITS)) == order(dataset)


def test_corruptions_are_those_of_the_set_if_they_are_asked_for(official: Dataset) -> None:
    assert load("digits", DIGITS).corruptions == {}
    dataset = load("digits", DIGITS, augment_dev=True)
    assert dataset.corruptions == official.corruptions
    rows = np.arange(3)
    np.testing.assert_array_equal(
        dataset.shifted("test", rows, "blur", 3, seed=0),
        official.corrupted(official.test.x[1:6:2], "blur", 3, seed=0),
    )


@pytest.mark.parametrize(
    ("scale", "zero_point", "high"), [(1 / 255, -128, 1), (1.0, -128, 255), (2 / 255, 0, 1)]
)
def test_images_become_what_the_model_takes(scale: float, zero_point: int, high: float) -> None:
    dataset = load("digits", Wanted((16, 16, 1), 10, scale, zero_point))
    made = dataset.front_end(dataset.dev.x)
    assert (made.shape[1:], made.dtype) == ((16, 16, 1), np.float32)
    assert made.max() == pytest.approx(high, rel=0.1)


def test_classes_are_matched_by_name(official: Dataset) -> None:
    backwards = ",".join(str(9 - i) for i in range(10))
    dataset = load("digits", DIGITS, labels=backwards)
    assert dataset.class_names == tuple(backwards.split(","))
    np.testing.assert_array_equal(dataset.train.y, 9 - official.train.y)
    np.testing.assert_array_equal(dataset.test.y, 9 - official.test.y[1::2])


def test_a_model_of_other_classes_is_told() -> None:
    wanted = Wanted((16, 16, 1), 5, 1 / 255, -128)
    refused(ConfigError, "digits has 10 classes, the model answers with 5", "digits", wanted)
    refused(ConfigError, "digits has '5'", "digits", wanted, labels="0,1,2,3,4")
    dataset = load("digits", wanted, labels="0,1,2,3,unknown")
    assert set(dataset.train.y) == {0, 1, 2, 3, 4}
    assert any(note.startswith("these count as 'unknown': 4, 5") for note in dataset.notes)


def test_a_model_of_another_shape_is_told() -> None:
    wanted = Wanted((28, 28, 1), 10, 1 / 255, -128)
    refused(ConfigError, r"\[16, 16, 1\], the model takes \[28, 28, 1\]", "digits", wanted)


def test_answers_are_not_for_a_named_set(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.arange(10))
    refused(ConfigError, "does not fit digits", "digits", DIGITS, labels=str(tmp_path / "y.npy"))


def test_published_corruptions_follow_the_rows_of_test(tmp_path: Path) -> None:
    given = layouts.write_mnist(tmp_path)
    layouts.write_fashion_mnist(tmp_path)
    fog = layouts.write_mnist_c(tmp_path, ("fog",))["fog"]
    dataset = load("mnist", MNIST, data_dir=str(tmp_path), augment_dev=True)
    np.testing.assert_array_equal(dataset.dev.x[..., 0], given["test"].x[::2])
    np.testing.assert_array_equal(dataset.test.x[..., 0], given["test"].x[1::2])
    np.testing.assert_array_equal(dataset.test.y, given["test"].y[1::2])
    rows = np.array([0, 3, 19])
    np.testing.assert_array_equal(
        dataset.shifted("test", rows, "fog", UNGRADED, 0), fog[1::2][rows]
    )
    assert len(dataset.shifted("dev", rows, "fog", 3, 0)) == 3
    assert load("mnist", MNIST, data_dir=str(tmp_path)).published == {}
