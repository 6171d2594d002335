"""MNIST, CIFAR-10 and TinyImageNet from small copies of what their publishers ship."""

import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import Dataset, Split, load_dataset
from snapcli.data.corruptions import COMMON, MNIST
from snapcli.data.dataset import SEVERITIES, UNGRADED
from snapcli.data.evaluation import Evaluation
from snapcli.data.streams import build_stream
from snapcli.errors import ArtifactError, ConfigError
from tests.unit.data.layouts import (
    PER_CLASS,
    VALIDATION_PER_CLASS,
    WNIDS,
    Content,
    class_of,
    content,
    write_cifar10,
    write_cifar10_c,
    write_fashion_mnist,
    write_idx,
    write_mnist,
    write_mnist_c,
    write_svhn,
    write_tinyimagenet,
    zip_tinyimagenet,
)


@dataclass(frozen=True)
class Copies:
    """All data sets below one folder; do not change it, take a copy."""

    root: Path
    mnist: dict[str, Content]
    fashion: Content
    cifar10: dict[str, Content]
    svhn: Content


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    root = tmp_path_factory.mktemp("copies")
    write_tinyimagenet(root)
    return Copies(
        root, write_mnist(root), write_fashion_mnist(root), write_cifar10(root), write_svhn(root)
    )


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SNAP_DATA_DIR", raising=False)
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def mine(copies: Copies, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(copies.root, tmp_path / "mine")


def load(name: str, root: Path, **options: object) -> Dataset:
    return load_dataset(replace(TrainOptions(dataset=name, data_dir=str(root)), **options))


def position(origin: str) -> int:
    return int(origin.rpartition("/")[2])


def check_split(split: Split, source: Content) -> None:
    """Every example is the one of the source that its origin says."""
    rows = [position(origin) for origin in split.origins]
    np.testing.assert_array_equal(split.x.reshape(-1), source.x[rows].reshape(-1))
    np.testing.assert_array_equal(split.y, source.y[rows])
    assert split.y.dtype == np.int64


def same(a: Split, b: Split) -> bool:
    return (a.x.tobytes(), a.y.tobytes(), list(a.origins)) == (
        b.x.tobytes(),
        b.y.tobytes(),
        list(b.origins),
    )


# ---- MNIST and CIFAR-10 -------------------------------------------------------

BOTH = pytest.mark.parametrize("name", ["mnist", "cifar10"])
SHAPES = {"mnist": (28, 28, 1), "cifar10": (32, 32, 3)}


@BOTH
def test_the_official_parts_are_all_there_and_apart(copies: Copies, name: str) -> None:
    dataset, source = load(name, copies.root), getattr(copies, name)
    assert dataset.name == name
    assert dataset.input_shape == SHAPES[name]
    assert len(dataset.class_names) == len(set(dataset.class_names)) == 10
    for split in ("train", "dev", "test"):
        assert dataset.split(split).x.shape[1:] == SHAPES[name]
        assert dataset.split(split).x.dtype == np.uint8
        check_split(dataset.split(split), source["test" if split == "test" else "train"])
    trained = [*dataset.train.origins, *dataset.dev.origins]
    assert sorted(map(position, trained)) == list(range(len(source["train"].y)))
    assert sorted(map(position, dataset.test.origins)) == list(range(len(source["test"].y)))
    assert not set(trained) & set(dataset.test.origins)


@BOTH
def test_dev_is_a_tenth_of_every_class(copies: Copies, name: str) -> None:
    dataset, source = load(name, copies.root), getattr(copies, name)
    everything = np.bincount(source["train"].y)
    np.testing.assert_array_equal(np.bincount(dataset.dev.y) * 10, everything)
    np.testing.assert_array_equal(np.bincount(dataset.train.y) * 10, everything * 9)


@BOTH
def test_the_order_of_training_examples_has_no_pattern(copies: Copies, name: str) -> None:
    """The quantizer takes the first ones."""
    places = [position(origin) for origin in load(name, copies.root).train.origins]
    assert abs(np.corrcoef(places, np.arange(len(places)))[0, 1]) < 0.3


@pytest.mark.parametrize("name", ["mnist", "cifar10", "tinyimagenet"])
def test_the_split_does_not_depend_on_the_seed_of_a_run(copies: Copies, name: str) -> None:
    one, other = (load(name, copies.root, seed=seed) for seed in (1, 2))
    for split in ("train", "dev", "test"):
        assert same(one.split(split), other.split(split))


def test_inputs_have_the_paper_s_normalisation(copies: Copies) -> None:
    paper = {
        "mnist": ([0.1307], [0.3081]),
        "cifar10": ([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]),
        "tinyimagenet": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    }
    for name, (mean, deviation) in paper.items():
        dataset = load(name, copies.root)
        x = dataset.test.x[:5]
        expected = (x.astype(np.float64) / 255 - mean) / deviation
        found = dataset.front_end(x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_foreign_images_are_those_of_the_other_data_set(copies: Copies) -> None:
    (fashion,) = load("mnist", copies.root).ood.items()
    assert fashion[0] == "fashion-mnist"
    np.testing.assert_array_equal(fashion[1], copies.fashion.x[..., None])
    (svhn,) = load("cifar10", copies.root).ood.items()
    assert svhn[0] == "svhn"
    np.testing.assert_array_equal(svhn[1], copies.svhn.x)


def test_training_images_are_varied_as_asked(copies: Copies) -> None:
    x = copies.cifar10["train"].x[:20]
    rng = np.random.default_rng
    plain = load("cifar10", copies.root, augment=("none",))
    np.testing.assert_array_equal(plain.augment(x, rng(0)), x)
    flipped = load("cifar10", copies.root, augment=("flip",)).augment(x, rng(0))
    assert {a.tobytes() for a in flipped} <= {a.tobytes() for a in [*x, *x[:, :, ::-1]]}
    varied = load("cifar10", copies.root).augmented(x, rng(0))
    assert (varied.shape, varied.dtype) == (x.shape, np.float32)
    assert not np.array_equal(varied, plain.augmented(x, rng(0)))
    with pytest.raises(ConfigError, match="'flop'") as caught:
        load("cifar10", copies.root, augment=("flop",))
    assert caught.value.hint == "Did you mean flip?"


@pytest.mark.parametrize("change", ["one less", "another value"])
def test_images_and_labels_of_mnist_have_to_fit(mine: Path, copies: Copies, change: str) -> None:
    test = copies.mnist["test"]
    y = test.y[1:] if change == "one less" else np.where(np.arange(40) == 7, 11, test.y)
    write_idx(mine / "mnist", "t10k", Content(test.x, y))
    with pytest.raises(ArtifactError, match="40 t10k images but 39 labels from 0 to 9"):
        load("mnist", mine)


@BOTH
def test_a_damaged_file_is_named(mine: Path, name: str) -> None:
    for path in sorted((mine / name).iterdir()):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ArtifactError, match=path.name if name == "mnist" else "cannot be read"):
            load(name, mine)
        path.write_bytes(whole)
    load(name, mine)


# ---- Corruptions as published -------------------------------------------------


def test_without_the_files_all_corruptions_are_made(copies: Copies) -> None:
    for name, types in (("mnist", MNIST), ("cifar10", COMMON), ("tinyimagenet", COMMON)):
        dataset = load(name, copies.root)
        assert list(dataset.corruptions) == list(types)
        assert len(types) == 15
        assert dataset.published == {}


def test_published_corruptions_of_cifar10_are_used_for_test(mine: Path) -> None:
    written = write_cifar10_c(mine, ("fog", "gaussian_noise"))
    made, dataset = load("cifar10", mine), load("cifar10", mine)
    assert set(dataset.published) == {"fog", "gaussian_noise"}
    rows = np.array([3, 40, 7])
    for name, images in written.items():
        for severity in SEVERITIES:
            found = dataset.shifted("test", rows, name, severity, seed=0)
            np.testing.assert_array_equal(found, images[severity - 1][rows])
    rows = np.arange(3)
    for split, name in (("dev", "fog"), ("test", "snow")):
        np.testing.assert_array_equal(
            dataset.shifted(split, rows, name, 2, seed=0),
            made.corrupted(made.split(split).x[rows], name, 2, seed=0),
        )


def test_published_corruptions_of_mnist_have_one_severity(mine: Path) -> None:
    written = write_mnist_c(mine, ("fog", "zigzag"))
    dataset = load("mnist", mine)
    assert set(dataset.published) == {"fog", "zigzag"}
    keys = Counter((k.split, k.condition) for k in Evaluation(dataset, 100).keys)
    assert keys["test", "fog"] == keys["test", "zigzag"] == 1
    assert keys["dev", "fog"] == keys["test", "stripe"] == 5
    assert dataset.severities("test", "fog") == (UNGRADED,)
    assert dataset.severities("dev", "fog") == dataset.severities("test", "stripe") == SEVERITIES
    rows = np.array([39, 0])
    found = dataset.shifted("test", rows, "zigzag", UNGRADED, seed=0)
    np.testing.assert_array_equal(found, written["zigzag"][rows])


def test_a_stream_of_official_mnist_c_claims_no_scale(mine: Path) -> None:
    """The same frames in the same order as ever, each condition by its one name."""
    written = write_mnist_c(mine, ("fog", "zigzag"))
    dataset = load("mnist", mine)
    stream = build_stream(dataset, "test", seed=0)
    plain = build_stream(replace(dataset, published={}), "test", seed=0)
    for found, other in zip(stream.segments, plain.segments, strict=True):
        assert (found.kind, found.condition, found.first) == (
            (other.kind, other.condition, other.first)
        )
        np.testing.assert_array_equal(found.rows, other.rows)
        official = found.condition in written
        assert found.severity == (UNGRADED if official else other.severity)
        if official:
            shown = dataset.front_end(written[found.condition][found.rows])
            np.testing.assert_array_equal(stream.inputs(found), shown)
    assert {s.severity for s in build_stream(dataset, "dev", seed=0).segments} == {0, *SEVERITIES}


def test_five_published_severities_make_the_stream_that_ours_make(mine: Path) -> None:
    write_cifar10_c(mine, ("fog", "snow"))
    dataset = load("cifar10", mine)
    assert dataset.published
    stream = build_stream(dataset, "test", seed=0)
    plain = build_stream(replace(dataset, published={}), "test", seed=0)
    assert [(s.condition, s.severity) for s in stream.segments] == [
        (s.condition, s.severity) for s in plain.segments
    ]


def test_published_corruptions_are_found_in_their_archive(mine: Path, cache: Path) -> None:
    written = write_mnist_c(mine, ("fog",))
    (mine / "mnist-c").mkdir()
    with zipfile.ZipFile(mine / "mnist-c" / "mnist_c.zip", "w") as file:
        file.write(mine / "mnist_c" / "fog" / "test_images.npy", "mnist_c/fog/test_images.npy")
    shutil.rmtree(mine / "mnist_c")
    dataset = load("mnist", mine)
    assert list((cache / "data" / "unpacked").glob("*/mnist_c/fog"))
    np.testing.assert_array_equal(
        dataset.shifted("test", np.arange(40), "fog", UNGRADED, seed=0), written["fog"]
    )


def test_corruptions_of_other_test_images_are_refused(mine: Path) -> None:
    write_cifar10_c(mine, ("fog",), count=59)
    with pytest.raises(ArtifactError, match=r"fog\.npy cannot be read"):
        load("cifar10", mine).shifted("test", np.arange(3), "fog", 1, seed=0)


# ---- TinyImageNet -------------------------------------------------------------


def classes_in(x: np.ndarray) -> Counter[str]:
    return Counter(class_of(image) for image in x)


def test_half_of_tinyimagenet_s_classes_are_known_and_half_foreign(copies: Copies) -> None:
    dataset = load("tinyimagenet", copies.root)
    known = classes_in(dataset.train.x).keys()
    assert len(known) == len(dataset.class_names) == 4
    (ood,) = dataset.ood.items()
    assert ood[0] == "other-classes"
    assert classes_in(ood[1]) == {w: VALIDATION_PER_CLASS for w in WNIDS if w not in known}
    assert classes_in(dataset.test.x) == dict.fromkeys(known, VALIDATION_PER_CLASS)
    assert classes_in(dataset.dev.x).keys() == known
    assert dataset.notes == ()


def test_images_of_tinyimagenet_have_their_class_and_origin(copies: Copies) -> None:
    dataset = load("tinyimagenet", copies.root)
    assert dataset.input_shape == (64, 64, 3)
    for name in ("train", "dev", "test"):
        split = dataset.split(name)
        assert split.x.dtype == np.uint8
        assert split.x.shape[1:] == (64, 64, 3)
        for image, label, origin in zip(split.x, split.y, split.origins, strict=True):
            wnid = class_of(image)
            assert dataset.class_names[label] == f"thing {WNIDS.index(wnid)}"
            if name != "test":
                assert origin.startswith(f"train/{wnid}/images/{wnid}_")
            else:
                assert int(origin.split("_")[1].split(".")[0]) % len(WNIDS) == WNIDS.index(wnid)


def test_train_and_dev_of_tinyimagenet_are_all_training_images(copies: Copies) -> None:
    dataset = load("tinyimagenet", copies.root)
    origins = [*dataset.train.origins, *dataset.dev.origins]
    assert len(set(origins)) == len(origins) == 4 * PER_CLASS
    assert all((copies.root / "tiny-imagenet-200" / origin).is_file() for origin in origins)
    # ceil(0.1 * 48)
    assert len(dataset.dev) == 5
    assert set(np.bincount(dataset.dev.y)) == {1, 2}


def test_the_archive_gives_the_same_and_is_unpacked_once(
    copies: Copies, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zip_tinyimagenet(copies.root / "tiny-imagenet-200", tmp_path / "packed")
    folder, archive = load("tinyimagenet", copies.root), load("tinyimagenet", tmp_path / "packed")
    for split in ("train", "dev", "test"):
        assert same(folder.split(split), archive.split(split))
    assert list((cache / "data" / "unpacked").glob("*/tiny-imagenet-200/wnids.txt"))
    monkeypatch.setattr("snapcli.data.files.store.unpack", never)
    load("tinyimagenet", tmp_path / "packed")


def never(*arguments: object) -> None:
    raise AssertionError("this was done before")


def test_a_second_time_no_image_is_read(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load("tinyimagenet", copies.root)
    monkeypatch.setattr("snapcli.data.sets.tinyimagenet.read_picture", never)
    second = load("tinyimagenet", copies.root)
    for split in ("train", "dev", "test"):
        assert same(first.split(split), second.split(split))
    np.testing.assert_array_equal(first.ood["other-classes"], second.ood["other-classes"])


def known_class(root: Path) -> str:
    return class_of(load("tinyimagenet", root).train.x[0])


def test_broken_images_are_skipped_named_and_counted(mine: Path) -> None:
    folder = mine / "tiny-imagenet-200"
    wnid = known_class(mine)
    bad = [
        folder / "train" / wnid / "images" / f"{wnid}_3.JPEG",
        folder / "val" / "images" / "val_0.JPEG",
        folder / "val" / "images" / "val_9.JPEG",
    ]
    bad[0].write_bytes(bad[0].read_bytes()[:300])
    bad[1].write_bytes(b"no image")
    bad[2].unlink()
    # From the files, and a second time from the cache.
    for _ in range(2):
        dataset = load("tinyimagenet", mine)
        *named, count = dataset.notes
        assert count == "3 broken files were skipped"
        assert len(named) == 3
        for path in bad:
            assert any(str(path) in note for note in named)
        everything = [*dataset.train.origins, *dataset.dev.origins, *dataset.test.origins]
        assert not {str(path.relative_to(folder)) for path in bad} & set(everything)
        found = len(everything) + len(dataset.ood["other-classes"])
        assert found == 4 * PER_CLASS + 8 * VALIDATION_PER_CLASS - 3
        for split in (dataset.train, dataset.dev, dataset.test):
            for image, label in zip(split.x, split.y, strict=True):
                assert dataset.class_names[label] == f"thing {WNIDS.index(class_of(image))}"
    with pytest.raises(ArtifactError, match=r"\(and 2 more\)"):
        load("tinyimagenet", mine, strict=True)


def without(*parts: str) -> Callable[[Path], None]:
    def remove(folder: Path) -> None:
        path = folder.joinpath(*parts)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return remove


def one_class_less(folder: Path) -> None:
    shutil.rmtree(folder / "train" / known_class(folder.parent))


def damaged_annotations(folder: Path) -> None:
    path = folder / "val" / "val_annotations.txt"
    path.write_text(path.read_text()[:-30])


def no_text(folder: Path) -> None:
    (folder / "wnids.txt").write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (without("wnids.txt"), "wnids.txt cannot be read"),
        (without("words.txt"), "words.txt cannot be read"),
        (without("val", "val_annotations.txt"), "val_annotations.txt cannot be read"),
        (without("val", "images"), "lacks images"),
        (without("train"), "lacks images"),
        (one_class_less, "lacks images of n0"),
        (damaged_annotations, "val_annotations.txt is damaged"),
        (no_text, "wnids.txt cannot be read"),
    ],
)
def test_what_tinyimagenet_lacks_is_named(
    mine: Path, damage: Callable[[Path], None], word: str
) -> None:
    damage(mine / "tiny-imagenet-200")
    with pytest.raises(ArtifactError, match=word) as caught:
        load("tinyimagenet", mine)
    assert "\n" not in caught.value.message
    assert caught.value.hint == "Put the content of tiny-imagenet-200.zip there."


def test_the_copies_tell_images_apart() -> None:
    """Were images alike, the tests above would prove little."""
    found = content(200, (28, 28), 1)
    assert len({image.tobytes() for image in found.x}) == 200
    assert set(np.bincount(found.y)) == {20}
