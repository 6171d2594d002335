"""The embedded data set: splits, corruptions and foreign inputs."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.datasets import load_digits as load_sklearn_digits

from snapcli.config import TrainOptions
from snapcli.data import Dataset, Split, load_dataset
from snapcli.data.sets import digits

CORRUPTIONS = {
    *("gaussian_noise", "impulse_noise", "blur", "contrast"),
    *("brightness", "rotation", "translation", "occlusion"),
}
SEVERITIES = (1, 2, 3, 4, 5)


def load_digits() -> Dataset:
    return load_dataset(TrainOptions())


@cache
def dataset() -> Dataset:
    return load_digits()


def splits() -> dict[str, Split]:
    return {name: getattr(dataset(), name) for name in ("train", "dev", "test")}


def same(a: Dataset, b: Dataset) -> bool:
    arrays = [
        [array for s in (d.train, d.dev, d.test) for array in (s.x, s.y)] + list(d.ood.values())
        for d in (a, b)
    ]
    return all(np.array_equal(x, y) for x, y in zip(*arrays, strict=True))


def test_splits_are_disjoint_and_complete() -> None:
    contents = {name: [x.tobytes() for x in split.x] for name, split in splits().items()}
    together = [content for part in contents.values() for content in part]
    original = load_sklearn_digits().images
    assert len(together) == len(original) == 1797
    # Every original has its own image, so a set tells repeated images from shared ones.
    assert len(set(together)) == len({image.tobytes() for image in original})
    for name, part in contents.items():
        others = {c for other, p in contents.items() if other != name for c in p}
        assert not others & set(part)


def test_images_keep_their_labels() -> None:
    """The mean of each 2x2 cell is near the pixel that it was enlarged from."""
    raw = load_sklearn_digits()
    flat = raw.images.reshape(-1, 64) / 16
    for split in splits().values():
        small = split.x.reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64)
        nearest = [np.argmin(np.abs(flat - image).sum(axis=1)) for image in small[:100]]
        np.testing.assert_array_equal(raw.target[nearest], split.y[:100])


def test_splits_are_stratified() -> None:
    shares = {"train": 0.6, "dev": 0.1, "test": 0.3}
    counts = np.bincount(load_sklearn_digits().target)
    for name, split in splits().items():
        np.testing.assert_allclose(np.bincount(split.y), shares[name] * counts, atol=1.5)


def test_shapes_types_and_range() -> None:
    assert dataset().input_shape == (16, 16, 1)
    assert len(dataset().class_names) == 10
    images = [*(s.x for s in splits().values()), *dataset().ood.values()]
    for x in images:
        assert x.shape[1:] == (16, 16, 1)
        assert x.dtype == np.float32
        assert x.min() >= 0.0
        assert x.max() <= 1.0
    for split in splits().values():
        assert split.y.dtype == np.int64
        assert len(split) == len(split.x)


def test_nothing_depends_on_numpys_global_generator() -> None:
    np.random.seed(1)
    first = load_digits()
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    np.random.seed(2)
    assert same(first, load_digits())
    np.random.seed(1)
    load_digits()
    corrupt_all(dataset())
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]


def corrupt_all(data: Dataset, seed: int = 3) -> dict[tuple[str, int], np.ndarray]:
    x = data.test.x[:60]
    return {
        (name, severity): data.corrupted(x, name, severity, seed)
        for name in data.corruptions
        for severity in SEVERITIES
    }


def test_the_corruptions_are_the_promised_ones() -> None:
    assert set(dataset().corruptions) == CORRUPTIONS


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", sorted(CORRUPTIONS))
def test_a_corruption_keeps_the_form_and_its_input(name: str, severity: int) -> None:
    x = dataset().test.x[:40]
    original = x.copy()
    found = dataset().corrupted(x, name, severity, seed=5)
    assert found.shape == x.shape
    assert found.dtype == np.float32
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    np.testing.assert_array_equal(x, original)
    assert not np.array_equal(found, x)


@pytest.mark.parametrize("name", sorted(CORRUPTIONS))
def test_harm_grows_with_severity(name: str) -> None:
    x = dataset().test.x
    harm = [np.abs(dataset().corrupted(x, name, s, seed=5) - x).mean() for s in SEVERITIES]
    assert harm == sorted(harm)
    assert len(set(harm)) == len(harm)


def test_corruptions_follow_their_seed_and_nothing_else() -> None:
    first = corrupt_all(dataset(), seed=3)
    backwards = {
        (name, severity): dataset().corrupted(dataset().test.x[:60], name, severity, 3)
        for name, severity in reversed(first)
    }
    for key, images in first.items():
        np.testing.assert_array_equal(images, backwards[key], err_msg=str(key))
    other = corrupt_all(dataset(), seed=4)
    random = CORRUPTIONS - {"blur", "contrast", "brightness"}
    for (name, severity), images in first.items():
        assert np.array_equal(images, other[name, severity]) == (name not in random)


def test_augmentation_is_mild_and_follows_its_generator() -> None:
    x = dataset().train.x[:100]
    a, b, c = (dataset().augment(x, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    # Milder than the mildest geometric corruptions of the size it varies by.
    harsh = dataset().corrupted(x, "rotation", 3, 0)
    assert np.abs(a - x).mean() < np.abs(harsh - x).mean()


def test_the_foreign_sets_are_the_promised_ones() -> None:
    assert list(dataset().ood) == ["photos", "photos-matched", "letters"]
    assert len({len(x) for x in dataset().ood.values()}) == 1
    for x in dataset().ood.values():
        assert len({image.tobytes() for image in x}) > 0.9 * len(x)


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x.mean(axis=(1, 2, 3)), x.std(axis=(1, 2, 3))


def test_matched_photographs_have_the_mean_and_contrast_of_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reference = dataset().train.x
    plain = dataset().ood["photos"]
    # Before clipping the moments are those of digits: compare the distributions.
    with monkeypatch.context() as unclipped:
        unclipped.setattr(digits.np, "clip", lambda x, low, high: x)
        exact = digits._matched(plain, reference)
    for ours, theirs in zip(moments(exact), moments(reference), strict=True):
        assert ks_2samp(ours, theirs).pvalue > 0.01
    # Clipping moves them, but nowhere near as far as the photographs were.
    clipped = dataset().ood["photos-matched"]
    for ours, theirs, before in zip(*map(moments, (clipped, reference, plain)), strict=True):
        assert abs(np.median(ours) - np.median(theirs)) < 0.06
        assert ks_2samp(ours, theirs).statistic < ks_2samp(before, theirs).statistic


def test_matched_photographs_are_still_the_photographs() -> None:
    plain, matched = dataset().ood["photos"], dataset().ood["photos-matched"]
    correlation = [
        np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(plain, matched, strict=True)
    ]
    assert np.median(correlation) > 0.85


def test_no_letter_looks_like_a_digit() -> None:
    # 0 1 2 3 5 6 8 9 have twins among the letters; 4 and 7 have none.
    assert not set("OoIiJjlZzBSsbgqy") & set(digits._LETTERS)
    assert set(digits._LETTERS) <= {*map(chr, range(65, 91)), *map(chr, range(97, 123))}
    assert len(set(digits._LETTERS)) == len(digits._LETTERS) > 20


def test_letters_are_drawn_like_the_digits() -> None:
    """As much ink: a mean that gives them away would make the task trivial."""
    ink = {
        name: moments(x)[0].mean()
        for name, x in {"d": dataset().train.x, "l": dataset().ood["letters"]}.items()
    }
    assert 0.5 < ink["l"] / ink["d"] < 1.5
