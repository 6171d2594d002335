"""A user's own data: folders of images or sounds, and .npz files, tidy and untidy."""

import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.corruptions import COMMON
from snapcli.data.evaluation import Evaluation, Key
from snapcli.errors import ArtifactError, ConfigError, SnapError

CLASSES = ("apple", "pear", "plum")
PER_CLASS = 12
SIDE = 12


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def load(path: Path, **options: Any) -> Dataset:
    return load_dataset(replace(TrainOptions(dataset=str(path)), **options))


def refused(
    path: Path, kind: type[SnapError], message: str, hint: str = "", **options: Any
) -> SnapError:
    """What is wrong stands in one line, what to do in another."""
    with pytest.raises(kind, match=message) as caught:
        load(path, **options)
    error = caught.value
    assert "\n" not in error.message
    assert error.hint
    assert hint in error.hint
    return error


def pixels(seed: int, height: int = SIDE, width: int = SIDE, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def picture(path: Path, array: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array[..., 0] if array.shape[-1] == 1 else array).save(path)
    return path


def photos(root: Path, count: int = PER_CLASS, channels: int = 3) -> Path:
    """A folder per class of PNGs, no two alike."""
    for c, name in enumerate(CLASSES):
        for i in range(count):
            seed = 1_000 * c + i + 100_000 * len(root.parts)
            picture(root / name / f"{i:02d}.png", pixels(seed, channels=channels))
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return photos(tmp_path / "fruit")


def everything(dataset: Dataset) -> list[tuple[str, int, np.ndarray]]:
    """(origin, label, example) of all splits."""
    return [
        (str(origin), int(label), x)
        for split in (dataset.train, dataset.dev, dataset.test)
        for origin, label, x in zip(split.origins, split.y, split.x, strict=True)
    ]


# ---- A folder of images -------------------------------------------------------


def test_every_image_is_there_once_with_its_class(folder: Path) -> None:
    dataset = load(folder)
    assert dataset.name == "fruit"
    assert dataset.class_names == CLASSES
    assert dataset.input_shape == (SIDE, SIDE, 3)
    assert list(dataset.corruptions) == list(COMMON)
    assert dataset.ood == {}
    assert dataset.notes == ()
    found = everything(dataset)
    names = [str(p.relative_to(folder)) for p in sorted(folder.rglob("*.png"))]
    assert sorted(origin for origin, _, _ in found) == names
    for origin, label, x in found:
        assert CLASSES[label] == origin.split("/")[0]
        np.testing.assert_array_equal(x, np.asarray(Image.open(folder / origin)))
        assert x.dtype == np.uint8


def test_a_fifth_is_test_and_a_tenth_dev_of_every_class(tmp_path: Path) -> None:
    dataset = load(photos(tmp_path / "fruit", count=20))
    for split, count in (("train", 14), ("dev", 2), ("test", 4)):
        assert list(np.bincount(dataset.split(split).y)) == [count] * 3


def test_the_split_is_always_the_same(folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "elsewhere" / "fruit")
    for other in (load(folder, seed=99), load(copied)):
        assert [o for o, _, _ in everything(other)] == [o for o, _, _ in everything(load(folder))]


def test_training_examples_of_the_classes_are_mixed(folder: Path) -> None:
    y = load(folder).train.y
    assert np.count_nonzero(np.diff(y)) > 5


def test_inputs_have_mean_0_and_deviation_1_over_the_training_images(folder: Path) -> None:
    dataset = load(folder)
    x = dataset.front_end(dataset.train.x)
    np.testing.assert_allclose(x.mean(axis=(0, 1, 2)), 0, atol=1e-3)
    np.testing.assert_allclose(x.std(axis=(0, 1, 2)), 1, atol=1e-3)
    # The moments are those of train: other splits come close, but do not decide.
    assert abs(dataset.front_end(dataset.test.x).mean()) > 1e-4


def test_images_without_any_contrast_stay_finite(tmp_path: Path) -> None:
    for name in CLASSES:
        for i in range(10):
            picture(tmp_path / "flat" / name / f"{i}.png", np.full((9, 9, 1), 128, np.uint8))
    dataset = load(tmp_path / "flat")
    assert np.isfinite(dataset.front_end(dataset.train.x)).all()


def test_hidden_and_other_files_do_not_count(folder: Path) -> None:
    shutil.copy(folder / "apple" / "00.png", folder / "apple" / ".00.png")
    shutil.copy(folder / "apple" / "00.png", folder / "loose.png")
    (folder / "apple" / "notes.txt").write_text("no image")
    (folder / "apple" / "Thumbs.db").touch()
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / "apple" / "more").mkdir()
    (folder / "apple" / "folder.png").mkdir()
    os.symlink(folder / "nowhere.png", folder / "apple" / "dangling.png")
    dataset = load(folder)
    assert dataset.class_names == CLASSES
    assert len(everything(dataset)) == 3 * PER_CLASS
    assert dataset.notes == ()


def as_mode(path: Path, mode: str) -> np.ndarray:
    """Writes the same picture in another mode; gives what it is in RGB by PIL."""
    image = Image.fromarray(pixels(7))
    if mode == "I;16":
        wide = np.asarray(image.convert("L")).astype(np.uint16) * 257
        Image.fromarray(wide).save(path)
        return np.asarray(image.convert("L").convert("RGB"))
    other = image.quantize(16) if mode == "P" else image.convert(mode)
    if mode == "RGBA":
        other.putalpha(Image.fromarray(pixels(8, channels=1)[..., 0]))
    other.save(path)
    return np.asarray(other.convert("RGB"))


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "P", "1", "I;16"])
def test_every_mode_of_png_becomes_colour_where_there_is_any(folder: Path, mode: str) -> None:
    expected = as_mode(folder / "pear" / "00.png", mode)
    dataset = load(folder)
    (found,) = (x for origin, _, x in everything(dataset) if origin == "pear/00.png")
    np.testing.assert_array_equal(found, expected)
    grey = mode in ("L", "LA", "1", "I;16")
    assert dataset.notes == (("1 image made colour",) if grey else ())


@pytest.mark.parametrize("mode", ["L", "LA", "1", "I;16"])
def test_grey_images_alone_stay_grey(tmp_path: Path, mode: str) -> None:
    root = tmp_path / "grey"
    for name in CLASSES:
        (root / name).mkdir(parents=True)
        for i in range(10):
            expected = as_mode(root / name / f"{i}.png", mode)
    dataset = load(root)
    assert dataset.input_shape == (SIDE, SIDE, 1)
    assert dataset.notes == ()
    np.testing.assert_array_equal(dataset.train.x[0], expected[..., :1])


def test_sixteen_bits_become_the_nearest_of_eight(tmp_path: Path) -> None:
    root = photos(tmp_path / "grey", channels=1)
    wide = np.random.default_rng(0).integers(0, 65536, (SIDE, SIDE)).astype(np.uint16)
    Image.fromarray(wide).save(root / "apple" / "00.png")
    (found,) = (x for origin, _, x in everything(load(root)) if origin == "apple/00.png")
    np.testing.assert_array_equal(found[..., 0], np.rint(wide / 257))


@pytest.mark.parametrize("order", ["<", ">"])
def test_sixteen_bits_are_grey_in_either_order_of_bytes(tmp_path: Path, order: str) -> None:
    root = photos(tmp_path / "grey", channels=1)
    wide = np.random.default_rng(0).integers(0, 65536, (SIDE, SIDE)).astype(f"{order}u2")
    Image.fromarray(wide).save(root / "apple" / "00.tif")
    dataset = load(root)
    assert dataset.input_shape == (SIDE, SIDE, 1)
    (found,) = (x for origin, _, x in everything(dataset) if origin == "apple/00.tif")
    np.testing.assert_array_equal(found[..., 0], np.rint(wide / 257))


def test_other_sizes_are_brought_to_the_commonest(folder: Path) -> None:
    big = picture(folder / "plum" / "00.png", pixels(1, 30, 20))
    small = picture(folder / "plum" / "01.png", pixels(2, 9, 9, 1))
    dataset = load(folder)
    assert dataset.input_shape == (SIDE, SIDE, 3)
    assert dataset.notes == (f"2 images resized to {SIDE}x{SIDE}", "1 image made colour")
    found = {origin: x for origin, _, x in everything(dataset)}
    for path in (big, small):
        resized = Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        np.testing.assert_array_equal(found[f"plum/{path.name}"], np.asarray(resized))


def test_images_that_are_not_square_stay_so(tmp_path: Path) -> None:
    for name in CLASSES:
        for i in range(10):
            picture(tmp_path / "wide" / name / f"{i}.png", pixels(i, 10, 14))
    assert load(tmp_path / "wide").input_shape == (10, 14, 3)


def test_size_and_channels_as_asked(folder: Path) -> None:
    dataset = load(folder, image_size=16, channels=1)
    assert dataset.input_shape == (16, 16, 1)
    count = 3 * PER_CLASS
    assert dataset.notes == (f"{count} images resized to 16x16", f"{count} images made grey")
    for origin, _, x in everything(dataset)[:3]:
        resized = (
            Image.open(folder / origin).convert("L").resize((16, 16), Image.Resampling.BICUBIC)
        )
        np.testing.assert_array_equal(x[..., 0], np.asarray(resized))


def test_jpegs_of_any_spelling_are_images(tmp_path: Path) -> None:
    for i in range(10):
        for c, name in enumerate(("A.JPG", "b.jpeg", "c.Png", "d.bmp")):
            picture(tmp_path / "mixed" / f"class{c % 2}" / f"{i}{name}", pixels(10 * i + c))
    dataset = load(tmp_path / "mixed")
    assert Counter(label for _, label, _ in everything(dataset)) == {0: 20, 1: 20}


def test_variations_are_the_image_ones(folder: Path) -> None:
    refused(folder, ConfigError, "'shift'", augment=("shift",))
    dataset = load(folder, augment=("flip", "cutout"))
    varied = dataset.augment(dataset.train.x, np.random.default_rng(0))
    # The square that is cut out is a quarter of the image, or less at its border.
    assert 0.05 < np.mean((varied == 0).all(axis=-1)) < 0.26


# ---- A division of the user's own ---------------------------------------------


@pytest.mark.parametrize(
    "names",
    [("train", "val", "test"), ("Training", "validation", "Testing"), ("train", "dev", "test")],
)
def test_folders_of_a_division_are_kept(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name, count in zip(names, (4, 2, 3), strict=True):
        photos(tmp_path / "fruit" / name, count)
    dataset = load(tmp_path / "fruit")
    assert dataset.class_names == CLASSES
    for split, name in zip(("train", "dev", "test"), names, strict=True):
        found = dataset.split(split)
        assert len(found) == 3 * {"train": 4, "dev": 2, "test": 3}[split]
        assert {origin.split("/")[0] for origin in found.origins} == {name}


@pytest.mark.parametrize("given", [("train", "test"), ("train", "val"), ("train",)])
def test_what_a_division_lacks_is_set_apart_from_train(
    tmp_path: Path, given: tuple[str, ...]
) -> None:
    for name in given:
        photos(tmp_path / "fruit" / name, 10)
    dataset = load(tmp_path / "fruit")
    origins = {s: set(dataset.split(s).origins) for s in ("train", "dev", "test")}
    assert sum(map(len, origins.values())) == len(set.union(*origins.values())) == 30 * len(given)
    assert all(len(np.unique(dataset.split(s).y)) == 3 for s in origins)
    if "test" in given:
        assert all(o.startswith("test/") for o in origins["test"])
        assert all(o.startswith("train/") for o in origins["dev"])
    else:
        assert all(o.startswith("train/") for o in origins["test"])


def test_a_division_without_train_is_told(tmp_path: Path) -> None:
    photos(tmp_path / "fruit" / "test")
    refused(tmp_path / "fruit", ConfigError, "no training examples", "train/")


def test_two_names_for_one_part_are_told(tmp_path: Path) -> None:
    for name in ("train", "val", "validation"):
        photos(tmp_path / "fruit" / name)
    refused(tmp_path / "fruit", ConfigError, "mean the same: train, val, validation")


def test_a_class_that_a_part_lacks_is_named_with_its_folder(tmp_path: Path) -> None:
    for name in ("train", "val", "test"):
        photos(tmp_path / "fruit" / name)
    shutil.rmtree(tmp_path / "fruit" / "val" / "pear")
    refused(tmp_path / "fruit", ConfigError, "fruit/val has no readable example of class 'pear'")


def test_test_images_without_classes_are_told(tmp_path: Path) -> None:
    photos(tmp_path / "fruit" / "train")
    picture(tmp_path / "fruit" / "test" / "1.png", pixels(1))
    refused(tmp_path / "fruit", ConfigError, "fruit/test has no readable example of class 'apple'")


# ---- Foreign images -----------------------------------------------------------


def test_foreign_images_are_no_class(folder: Path) -> None:
    for i in range(5):
        picture(folder / "_ood_" / f"{i}.png", pixels(900 + i, 20, 20, 1))
    dataset = load(folder)
    assert dataset.class_names == CLASSES
    assert dataset.ood["ood"].shape == (5, SIDE, SIDE, 3)
    assert len(everything(dataset)) == 3 * PER_CLASS
    np.testing.assert_array_equal(
        dataset.ood["ood"][2],
        np.asarray(
            Image.fromarray(pixels(902, 20, 20, 1)[..., 0]).convert("RGB").resize((SIDE,) * 2)
        ),
    )


def test_foreign_images_beside_a_division(tmp_path: Path) -> None:
    for name in ("train", "val", "test"):
        photos(tmp_path / "fruit" / name, 3)
    picture(tmp_path / "fruit" / "_ood_" / "1.png", pixels(1))
    dataset = load(tmp_path / "fruit")
    assert len(dataset.train) == 9
    assert len(dataset.ood["ood"]) == 1


@pytest.mark.parametrize("name", ["1.txt", "1.png"])
def test_a_foreign_folder_without_a_readable_image_is_told(folder: Path, name: str) -> None:
    (folder / "_ood_").mkdir()
    (folder / "_ood_" / name).write_text("no image")
    refused(folder, ConfigError, "_ood_ has no readable example", "remove it")


# ---- What is wrong with a folder ----------------------------------------------


def test_images_that_are_too_large_ask_for_a_size(folder: Path) -> None:
    for path in folder.rglob("*.png"):
        picture(path, pixels(1, 200, 150))
    refused(folder, ConfigError, "the images are 200x150", "--image-size 64")
    assert load(folder, image_size=20).input_shape == (20, 20, 3)


@pytest.mark.parametrize("size", [-3, 4, 200])
def test_a_size_that_no_image_should_have_is_refused(size: int) -> None:
    with pytest.raises(ConfigError, match=f"train.image_size is {size}"):
        TrainOptions(image_size=size)


def test_one_class_is_not_enough(folder: Path) -> None:
    for name in ("pear", "plum"):
        shutil.rmtree(folder / name)
    refused(folder, ConfigError, "only one folder of examples", "at least two")
    shutil.rmtree(folder / "apple")
    refused(folder, ConfigError, "no folder of examples", "at least two")


def test_an_empty_class_is_named(folder: Path) -> None:
    for path in (folder / "pear").iterdir():
        path.unlink()
    refused(folder, ConfigError, "no readable example of class 'pear'")


def test_a_class_of_broken_images_is_named(folder: Path) -> None:
    for path in (folder / "pear").iterdir():
        path.write_bytes(b"broken")
    refused(folder, ConfigError, "no readable example of class 'pear'")


def test_folders_without_images_are_told(folder: Path) -> None:
    for path in folder.rglob("*.png"):
        path.rename(path.with_suffix(".txt"))
    refused(folder, ConfigError, "neither images nor .wav files")
    picture(folder / "_ood_" / "1.png", pixels(1))
    refused(folder, ConfigError, "neither images nor .wav files")


@pytest.mark.parametrize("place", ["apple", "_ood_"])
def test_images_and_sounds_together_are_refused(folder: Path, place: str) -> None:
    tone(folder / place / "1.wav")
    refused(folder, ConfigError, "both images and .wav files", "one kind")


def test_images_none_of_which_can_be_read_are_told(folder: Path) -> None:
    for path in folder.rglob("*.png"):
        path.write_bytes(b"broken")
    refused(folder, ArtifactError, r"cannot read .*apple.* \(and \d+ more\)")


@pytest.mark.parametrize("count", [1, 2, 5, 7, 9])
def test_too_few_examples_name_a_class_and_a_number(tmp_path: Path, count: int) -> None:
    root = photos(tmp_path / "fruit", 20)
    for path in sorted((root / "pear").iterdir())[count:]:
        path.unlink()
    error = refused(root, ConfigError, "too few", "at least ten")
    assert "the class of pear/" in error.message


def test_ten_examples_of_a_class_are_enough(tmp_path: Path) -> None:
    root = photos(tmp_path / "fruit", 40)
    for path in sorted((root / "pear").iterdir())[10:]:
        path.unlink()
    dataset = load(root)
    for split in ("train", "dev", "test"):
        assert np.bincount(dataset.split(split).y).min() >= 1


def test_broken_images_are_skipped_named_and_counted(folder: Path) -> None:
    whole = (folder / "apple" / "03.png").read_bytes()
    bad = {
        folder / "apple" / "03.png": whole[: len(whole) // 2],
        folder / "plum" / "02.png": b"",
        folder / "_ood_" / "0.png": b"no image at all",
    }
    picture(folder / "_ood_" / "1.png", pixels(1))
    # What the header of a broken file says is not told as well.
    large = picture(folder / "plum" / "01.png", pixels(3, 40, 40, 1))
    bad[large] = large.read_bytes()[:200]
    for path, content in bad.items():
        path.write_bytes(content)
    for _ in range(2):  # from the files, and from the cache
        dataset = load(folder)
        *named, count = dataset.notes
        assert count == "4 broken files were skipped"
        assert len(named) == 4
        assert all(any(str(path) in note for note in named) for path in bad)
        found = everything(dataset)
        assert len(found) == 3 * PER_CLASS - 3
        assert all(folder / origin not in bad for origin, _, _ in found)
        assert len(dataset.ood["ood"]) == 1
        for origin, _, x in found:
            np.testing.assert_array_equal(x, np.asarray(Image.open(folder / origin)))
    refused(folder, ArtifactError, r"03\.png.*\(and 3 more\)", "Fix or remove", strict=True)


def test_a_changed_image_is_read_again(folder: Path) -> None:
    load(folder)
    picture(folder / "apple" / "00.png", pixels(4_242))
    (found,) = (x for origin, _, x in everything(load(folder)) if origin == "apple/00.png")
    np.testing.assert_array_equal(found, pixels(4_242))


def test_a_second_time_no_image_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(folder)

    def never(*_: object) -> None:
        raise AssertionError("this was read before")

    monkeypatch.setattr("snapcli.data.images.pictures.read_picture", never)
    for before, after in zip(everything(first), everything(load(folder)), strict=True):
        assert before[:2] == after[:2]
        np.testing.assert_array_equal(before[2], after[2])


# ---- An .npz ------------------------------------------------------------------

N = 30


def arrays(
    shape: tuple[int, ...] = (SIDE, SIDE, 3), count: int = N, seed: int = 0
) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"x": rng.integers(0, 256, (count, *shape), np.uint8), "y": np.arange(count) % 3}


def npz(tmp_path: Path, **content: Any) -> Path:
    path = tmp_path / "mine.npz"
    np.savez(path, **content)
    return path


def position(origin: str) -> int:
    return int(origin.split("/")[1])


@pytest.mark.parametrize("shape", [(SIDE, SIDE, 3), (9, 11, 1), (10, 10)])
def test_x_and_y_are_divided(tmp_path: Path, shape: tuple[int, ...]) -> None:
    given = arrays(shape)
    dataset = load(npz(tmp_path, **given))
    assert dataset.name == "mine"
    assert dataset.class_names == ("0", "1", "2")
    assert dataset.input_shape == (*shape, 1)[:3]
    found = everything(dataset)
    assert sorted(position(origin) for origin, _, _ in found) == list(range(N))
    for origin, label, x in found:
        np.testing.assert_array_equal(x.reshape(shape), given["x"][position(origin)])
        assert label == given["y"][position(origin)]


def test_arrays_of_each_part_are_kept(tmp_path: Path) -> None:
    parts = {"train": arrays(count=21), "dev": arrays(count=9, seed=1), "test": arrays(seed=2)}
    given = {f"{k}_{name}": v for name, part in parts.items() for k, v in part.items()}
    dataset = load(npz(tmp_path, **given))
    for name, part in parts.items():
        split = dataset.split(name)
        assert len(split) == len(part["y"])
        rows = [position(origin) for origin in split.origins]
        assert sorted(rows) == list(range(len(part["y"])))
        np.testing.assert_array_equal(split.x, part["x"][rows])
        np.testing.assert_array_equal(split.y, part["y"][rows])
    assert {o.split("/")[0] for o, _, _ in everything(dataset)} == {"train", "dev", "test"}


@pytest.mark.parametrize("kind", ["names", "bytes", "sparse numbers", "column", "booleans"])
def test_labels_of_any_kind(tmp_path: Path, kind: str) -> None:
    given = arrays()
    names = np.array(["pear", "apple", "quince"])
    expected: tuple[str, ...] = ("apple", "pear", "quince")
    if kind == "names":
        given["y"] = names[given["y"]]
    elif kind == "bytes":
        given["y"] = names[given["y"]].astype("S")
    elif kind == "sparse numbers":
        given["y"] = np.array([7, -1, 40])[given["y"]]
        expected = ("-1", "7", "40")
    elif kind == "column":
        given["y"], expected = given["y"][:, None], ("0", "1", "2")
    else:
        given["y"], expected = given["y"] > 0, ("False", "True")
    dataset = load(npz(tmp_path, **given))
    assert dataset.class_names == expected
    for origin, label, _ in everything(dataset):
        value = np.asarray(given["y"]).reshape(-1)[position(origin)]
        name = value.decode() if isinstance(value, bytes) else str(value)
        assert expected[label] == name


def test_class_names_belong_to_the_labels_in_order(tmp_path: Path) -> None:
    dataset = load(npz(tmp_path, **arrays(), class_names=np.array(["a", "b", "c"])))
    assert dataset.class_names == ("a", "b", "c")


def test_real_images_become_bytes(tmp_path: Path) -> None:
    given = arrays()
    for dtype in (np.float32, np.float64, np.float16):
        real = {**given, "x": (given["x"] / 255).astype(dtype)}
        dataset = load(npz(tmp_path, **real, ood=real["x"][:4]))
        for origin, _, x in everything(dataset):
            assert x.dtype == np.uint8
            np.testing.assert_array_equal(x, given["x"][position(origin)])
        np.testing.assert_array_equal(dataset.ood["ood"], given["x"][:4])


def changed(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """None removes an array, a function changes it."""

    def change(given: dict[str, Any]) -> dict[str, Any]:
        new = {k: v(given[k]) if callable(v) else v for k, v in changes.items()}
        return {k: v for k, v in {**given, **new}.items() if v is not None}

    return change


def with_value(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(x: np.ndarray) -> np.ndarray:
        real = (x / 255).astype(np.float32)
        real[3, 2, 1, 0] = value
        return real

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(y=None), "has the arrays x"),
        (changed(x=None, y=None), "has the arrays none"),
        (
            changed(x_train=np.zeros(3), y_train=np.zeros(3)),
            "has the arrays x, y, x_train, y_train",
        ),
        (changed(y=lambda y: y[1:]), "30 examples but 29 labels"),
        (changed(y=lambda y: np.eye(3, dtype=int)[y]), "30 examples but 90 labels"),
        (changed(y=lambda y: y * 1.0), "labels of float64"),
        (changed(y=lambda y: y * 0), "labels of 1 classes"),
        (changed(class_names=np.array(["a", "b"])), "3 classes and 2 class names"),
        (changed(class_names=np.array(["a", "b", "b"])), "3 classes and 2 class names"),
        (changed(class_names=np.array("a")), "3 classes and 1 class names"),
        (changed(x=with_value(1.5)), "values from 0 to 1.5"),
        (changed(x=with_value(-0.5)), "values from -0.5 to 1"),
        (changed(x=lambda x: x.astype(np.float32)), "values from 0 to 255"),
        (changed(x=with_value(np.nan)), "not numbers"),
        (changed(x=with_value(np.inf)), "not numbers"),
        (changed(x=lambda x: x.astype(np.int64)), r"\(30, 12, 12, 3\) of int64"),
        (changed(x=lambda x: x > 3), r"\(30, 12, 12, 3\) of bool"),
        (changed(x=lambda x: x.transpose(0, 3, 1, 2)), r"\(30, 3, 12, 12\) of uint8"),
        (changed(x=lambda x: x[..., :2]), r"\(30, 12, 12, 2\)"),
        (changed(x=lambda x: x[..., None]), r"\(30, 12, 12, 3, 1\)"),
        (changed(x=lambda x: x[:, :, 0, 0]), r"\(30, 12\) of uint8"),
        (changed(x=lambda x: x[:, :, 0, 0] / 255), r"\(30, 12\) of float"),
        (changed(x=lambda x: x[:, 0, 0, 0]), r"\(30,\) of uint8"),
        (changed(x=np.uint8(3)), "0 examples"),
        (changed(x=lambda x: x[:, :0]), r"\(30, 0, 12, 3\)"),
        (changed(x=lambda x: x.astype("c16")), "complex128"),
        (changed(x=lambda x: x.astype("U3")), "<U3"),
        (changed(x=lambda x: x[:, :4]), "the images are 4x12"),
        (changed(x=lambda x: x.repeat(20, axis=2)), "the images are 12x240"),
        (changed(ood=lambda _: np.zeros((3, 14, 14, 3), np.uint8)), "several shapes"),
        (changed(ood=lambda _: np.zeros((3, 5), np.uint8)), r"\(3, 5\)"),
        (changed(ood=lambda _: np.zeros((0, SIDE, SIDE, 3), np.uint8)), r"\(0, 12, 12, 3\)"),
        (changed(sample_rate=lambda _: np.array([8000, 16000])), "sample_rate"),
        (changed(sample_rate=lambda _: np.array("fast")), "sample_rate fast"),
        (changed(sample_rate=lambda _: np.array(0)), "sample_rate 0"),
    ],
)
def test_arrays_that_mean_nothing_are_told(
    tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]], message: str
) -> None:
    given = {**arrays(), "ood": None, "sample_rate": None}
    refused(npz(tmp_path, **change(given)), ConfigError, message)


def test_a_class_that_a_part_lacks_is_named_with_its_array(tmp_path: Path) -> None:
    train, test = arrays(), arrays(count=10)
    test["y"] = test["y"] % 2
    path = npz(tmp_path, x_train=train["x"], y_train=train["y"], x_test=test["x"], y_test=test["y"])
    refused(path, ConfigError, "y_test of .* has no readable example of class '2'")


def test_parts_of_several_shapes_are_refused(tmp_path: Path) -> None:
    train, test = arrays(), arrays((14, 14, 3))
    path = npz(tmp_path, x_train=train["x"], y_train=train["y"], x_test=test["x"], y_test=test["y"])
    refused(path, ConfigError, r"several shapes: \(30, 12, 12, 3\), \(30, 14, 14, 3\)")


@pytest.mark.parametrize("option", [{"image_size": 20}, {"channels": 1}])
def test_arrays_are_not_converted(tmp_path: Path, option: dict[str, int]) -> None:
    refused(npz(tmp_path, **arrays()), ConfigError, "not an .npz", **option)


class Runs:
    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("place", ["x", "y", "class_names", "extra"])
def test_objects_are_refused_and_do_not_run(tmp_path: Path, place: str) -> None:
    evil = np.array([Runs(tmp_path / "ran")] * N, dtype=object)
    path = npz(tmp_path, **{**arrays(), place: evil})
    refused(path, ArtifactError, "cannot be read: it holds objects", "without objects")
    assert not (tmp_path / "ran").exists()


def test_what_is_no_npz_is_refused(tmp_path: Path) -> None:
    path = npz(tmp_path, **arrays())
    whole = path.read_bytes()
    np.save(tmp_path / "one.npy", arrays()["x"])
    middle = len(whole) // 2
    for raw in (
        b"",
        b"text, not an archive",
        whole[:10],
        whole[: len(whole) // 2],
        whole[:-10],
        whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
        (tmp_path / "one.npy").read_bytes(),
    ):
        path.write_bytes(raw)
        refused(path, ArtifactError, f"{path} cannot be read", ".npz")


def test_a_compressed_npz_with_a_wrong_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, **arrays())
    whole = path.read_bytes()
    for place in (60, len(whole) // 3, len(whole) // 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        refused(path, ArtifactError, "cannot be read")


def test_too_few_arrays_are_told(tmp_path: Path) -> None:
    error = refused(npz(tmp_path, **arrays(count=15)), ConfigError, "too few", "at least ten")
    assert "the class of npz/" in error.message


# ---- Sounds -------------------------------------------------------------------

RATE = 16_000


def wave(hz: float, seconds: float = 1.0, rate: int = RATE) -> np.ndarray:
    """int16 at half of full scale."""
    t = np.arange(round(seconds * rate)) / rate
    return np.rint(16_384 * np.sin(2 * np.pi * hz * t)).astype(np.int16)


def tone(path: Path, hz: float = 440.0, seconds: float = 1.0, rate: int = RATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    wavfile.write(path, rate, wave(hz, seconds, rate))
    return path


@pytest.fixture
def whistles(tmp_path: Path) -> Path:
    for c, name in enumerate(("high", "low")):
        for i in range(10):
            tone(tmp_path / "whistles" / name / f"{i}.wav", (1000, 300)[c] + i)
    return tmp_path / "whistles"


def loudest_hz(clip: np.ndarray) -> float:
    return float(np.argmax(np.abs(np.fft.rfft(clip.astype(float)))) * RATE / len(clip))


def test_sounds_are_clips_of_a_second(whistles: Path) -> None:
    dataset = load(whistles)
    assert dataset.class_names == ("high", "low")
    assert dataset.input_shape == (98, 40, 1)
    assert "reverb" in dataset.corruptions
    assert dataset.notes == ()
    for origin, label, x in everything(dataset):
        assert (x.shape, x.dtype) == ((RATE,), np.int16)
        np.testing.assert_array_equal(x, wavfile.read(whistles / origin)[1])
        assert label == ["high", "low"].index(origin.split("/")[0])


def test_sounds_of_other_rates_channels_and_lengths_are_converted_and_told(whistles: Path) -> None:
    low = whistles / "low"
    tone(low / "0.wav", 300, rate=8_000)
    tone(low / "1.wav", 300, rate=44_100)
    tone(low / "2.wav", 300, rate=44_100)
    both = np.stack([wave(300), np.zeros(RATE, np.int16)], axis=1)
    wavfile.write(low / "3.wav", RATE, both)
    tone(low / "4.wav", 300, seconds=0.4)
    tone(low / "5.wav", 300, seconds=2.5)
    dataset = load(whistles)
    assert dataset.notes == (
        "1 file resampled from 8,000 Hz",
        "2 files resampled from 44,100 Hz",
        "1 file mixed to mono",
        "1 file of less than a second reflected at the ends",
        "1 file of more than a second cut to the middle",
    )
    found = {origin: x for origin, _, x in everything(dataset)}
    for i in range(6):
        assert loudest_hz(found[f"low/{i}.wav"]) == pytest.approx(300, abs=4)
    np.testing.assert_allclose(found["low/3.wav"], wave(300) / 2, atol=1)
    np.testing.assert_array_equal(found["low/5.wav"], wave(300, 2.5)[12_000:28_000])
    for rate_file in ("0", "1"):
        middle = found[f"low/{rate_file}.wav"][1_000:-1_000]
        assert np.abs(middle).max() == pytest.approx(16_384, rel=0.02)


def test_broken_sounds_are_skipped_named_and_counted(whistles: Path) -> None:
    bad = [whistles / "high" / "3.wav", whistles / "low" / "11.wav"]
    bad[0].write_bytes(bad[0].read_bytes()[:1_000])
    bad[1].write_text("no sound")
    tone(whistles / "high" / "12.wav")
    for _ in range(2):
        dataset = load(whistles)
        *named, count = dataset.notes
        assert count == "2 broken files were skipped"
        assert [any(str(path) in note for path in bad) for note in named] == [True, True]
        assert len(everything(dataset)) == 20
    refused(whistles, ArtifactError, r"3\.wav.*\(and 1 more\)", strict=True)


def test_background_noises_are_no_class_and_are_mixed_in(whistles: Path) -> None:
    noise = whistles / "_background_noise_"
    tone(noise / "hum.wav", 6_000, seconds=3)
    dataset = load(whistles)
    assert dataset.class_names == ("high", "low")
    assert dataset.ood == {}
    assert dataset.notes == ()
    silent = load(whistles, augment=("none",))
    x = dataset.train.x[:4]
    np.testing.assert_array_equal(
        silent.augment(x, np.random.default_rng(0)), x / np.float32(32768)
    )
    noisy = dataset.corrupted(x, "background_noise", 5, seed=0)
    at = np.abs(np.fft.rfft(noisy.astype(float), axis=1))[:, 6_000]
    assert (at > 100 * np.abs(np.fft.rfft(x.astype(float), axis=1))[:, 6_000]).all()


def test_short_and_broken_noises_are_left_out_and_told(whistles: Path) -> None:
    noise = whistles / "_background_noise_"
    tone(noise / "click.wav", seconds=0.3)
    tone(noise / "hum.wav", seconds=3)
    (noise / "broken.wav").write_text("no sound")
    (noise / "README.md").write_text("where they come from")
    dataset = load(whistles)
    assert "broken.wav" in dataset.notes[0]
    assert dataset.notes[1:] == (
        "1 broken file was skipped",
        "1 noise of less than a second left out",
    )
    refused(whistles, ArtifactError, r"broken\.wav", strict=True)


def test_what_sounds_are_kept_by_follows_all_that_they_are_made_from(whistles: Path) -> None:
    """Features of corrupted and foreign clips come from the cache under this name."""
    tone(whistles / "_background_noise_" / "hum.wav", 6_000, seconds=3)
    tone(whistles / "_ood_" / "1.wav", 5_000)
    seen = [load(whistles).identity, load(whistles, seed=3).identity]
    assert seen[0] == seen[1]
    changes: list[Callable[[], Any]] = [
        lambda: tone(whistles / "_background_noise_" / "hum.wav", 5_000, seconds=3),
        lambda: tone(whistles / "_ood_" / "1.wav", 4_000),
        lambda: tone(whistles / "low" / "3.wav", 310),
        lambda: tone(whistles / "low" / "10.wav", 310),
    ]
    for change in changes:
        change()
        seen.append(load(whistles).identity)
    assert len(set(seen)) == 1 + len(changes)


def test_foreign_sounds_follow_their_folder_even_through_the_cache(whistles: Path) -> None:
    tone(whistles / "_ood_" / "1.wav", 5_000)
    key = Key("ood", "ood")
    before = np.array(Evaluation(load(whistles), 10).inputs(key))
    tone(whistles / "_ood_" / "1.wav", 2_000)
    dataset = load(whistles)
    after = Evaluation(dataset, 10).inputs(key)
    assert not np.array_equal(before, after)
    np.testing.assert_array_equal(after, dataset.front_end(dataset.ood["ood"]))


@pytest.mark.parametrize("option", [{"image_size": 20}, {"channels": 1}])
def test_sounds_have_no_size(whistles: Path, option: dict[str, int]) -> None:
    refused(whistles, ConfigError, "whistles has sounds", "--image-size", **option)


def test_variations_are_those_of_sounds(whistles: Path) -> None:
    refused(whistles, ConfigError, "'flip'", augment=("flip",))


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
@pytest.mark.parametrize(("rate", "seconds"), [(RATE, 1.0), (8_000, 1.0), (RATE, 0.5), (RATE, 2)])
def test_sounds_of_an_npz(tmp_path: Path, dtype: type, rate: int, seconds: float) -> None:
    hz = np.array([500.0, 1500.0])
    x = np.stack([wave(hz[i % 2], seconds, rate) for i in range(20)])
    x = x if dtype == np.int16 else (x / 32768).astype(np.float32)
    given = {"x": x, "y": np.arange(20) % 2, "ood": x[:3]}
    rates = {} if rate == RATE else {"sample_rate": rate}
    dataset = load(npz(tmp_path, **given, **rates))
    assert dataset.input_shape == (98, 40, 1)
    assert dataset.ood["ood"].shape == (3, RATE)
    for _, label, clip in everything(dataset):
        assert (clip.shape, clip.dtype) == ((RATE,), np.int16)
        assert loudest_hz(clip) == pytest.approx(hz[label], abs=2)


def test_sounds_of_an_npz_beyond_full_scale_are_told(tmp_path: Path) -> None:
    x = np.full((20, RATE), 1.2)
    refused(npz(tmp_path, x=x, y=np.arange(20) % 2), ConfigError, "values from 1.2", "-1 and 1")
