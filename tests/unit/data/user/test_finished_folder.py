"""Folders of images and sounds: flat, by class, with rows beside them."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError
from tests.unit.data.user.given import (
    FRUIT,
    KEYWORDS,
    PIXELS,
    RATE,
    SIDE,
    everything,
    fruit,
    load,
    order,
    picture,
    refused,
    tone,
)


def flat(root: Path, count: int = 60) -> Path:
    for i in range(count):
        picture(root / f"{i:03d}.png", i)
    return root


def rows(folder: Path, said: dict[str, str]) -> Path:
    path = folder / "labels.csv"
    path.write_text("file,label\n" + "".join(f"{f},{c}\n" for f, c in said.items()))
    return path


# ---- A folder per class -------------------------------------------------------


def test_every_image_is_there_once_with_its_class(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit")
    dataset = load(root, PIXELS, labels="Plum,Apple,Pear")
    assert dataset.name == "fruit"
    assert dataset.class_names == ("Plum", "Apple", "Pear")
    assert dataset.labelled
    assert (dataset.corruptions, dataset.ood, dataset.identity) == ({}, {}, None)
    found = everything(dataset)
    assert set(found) == {str(p.relative_to(root)) for p in root.rglob("*.png")}
    for origin, (label, x) in found.items():
        assert dataset.class_names[label].lower() == origin.split("/")[0]
        np.testing.assert_array_equal(x, np.asarray(Image.open(root / origin)))
    # Pixels are what this model takes, as they are.
    np.testing.assert_array_equal(dataset.front_end(dataset.dev.x), dataset.dev.x)
    assert dataset.front_end(dataset.dev.x).dtype == np.float32


def test_a_fifth_is_test_and_a_fifth_dev_of_every_class(tmp_path: Path) -> None:
    dataset = load(fruit(tmp_path / "fruit"), PIXELS)
    for split, count in (("train", 12), ("dev", 4), ("test", 4)):
        assert list(np.bincount(dataset.split(split).y)) == [count] * 3


def test_the_splits_are_always_the_same(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit")
    first = order(load(root, PIXELS))
    assert order(load(root, PIXELS, seed=99, augment_dev=True)) == first
    assert order(load(shutil.copytree(root, tmp_path / "copied" / "fruit"), PIXELS)) == first


def test_without_names_the_sorted_order_is_assumed_and_told(tmp_path: Path) -> None:
    dataset = load(fruit(tmp_path / "fruit", ("pear", "apple", "plum")), PIXELS)
    assert dataset.class_names == FRUIT
    assert any("in this order" in note and "apple, pear, plum" in note for note in dataset.notes)


def test_a_division_of_the_users_own_is_kept(tmp_path: Path) -> None:
    root = tmp_path / "fruit"
    for part, count in (("train", 14), ("validation", 4), ("Test", 6)):
        fruit(root / part, count=count)
    dataset = load(root, PIXELS)
    assert [len(dataset.split(s)) for s in ("train", "dev", "test")] == [42, 12, 18]
    everything(dataset)
    assert all(str(o).startswith("Test/") for o in dataset.test.origins)


def test_folders_that_are_no_class_count_as_unknown(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit", ("apple", "banana", "cherry"))
    dataset = load(root, PIXELS, labels="Unknown,apple,pear")
    for origin, (label, _) in everything(dataset).items():
        assert label == (1 if origin.startswith("apple") else 0)
    assert "these count as 'unknown': banana, cherry" in dataset.notes
    assert "there are no examples of pear" in dataset.notes
    refused(ConfigError, "fruit has 'banana'", root, PIXELS, labels="plum,apple,pear")


def test_a_wrong_number_of_folders_is_told(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit", ("apple", "pear"), 30)
    hint = refused(ConfigError, "2 classes, the model answers with 3", root, PIXELS)
    assert "--labels" in hint


def test_images_take_the_models_size_and_channels(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit")
    dataset = load(root, Wanted((8, 12, 1), 3, 1.0, -128))
    for origin, (_, x) in list(everything(dataset).items())[:3]:
        grey = Image.open(root / origin).convert("L").resize((12, 8), Image.Resampling.BICUBIC)
        np.testing.assert_array_equal(x[..., 0], np.asarray(grey))
    assert "60 images resized to 8x12" in dataset.notes
    assert "60 images made grey" in dataset.notes


@pytest.mark.parametrize("shape", [(128, 3), (640,), (SIDE, SIDE, 2)])
def test_a_model_that_takes_no_images_gets_none(tmp_path: Path, shape: tuple[int, ...]) -> None:
    root = flat(tmp_path / "pile")
    hint = refused(ConfigError, "has images, the model takes", root, Wanted(shape, 3, 1.0, 0))
    assert ".npz" in hint


def test_broken_files_are_skipped_and_told(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit")
    bad = root / "pear" / "03.png"
    bad.write_bytes(bad.read_bytes()[:60])
    dataset = load(root, PIXELS)
    assert len(everything(dataset)) == 59
    assert any(str(bad) in note for note in dataset.notes)
    assert "1 broken file was skipped" in dataset.notes


def test_foreign_images_are_no_class(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit")
    for i in range(5):
        picture(root / "_ood_" / f"{i}.png", 900 + i)
    dataset = load(root, PIXELS)
    assert dataset.class_names == FRUIT
    assert dataset.ood["ood"].shape == (5, SIDE, SIDE, 3)
    assert len(everything(dataset)) == 60


def test_rows_are_not_for_folders_of_classes(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit")
    given = rows(tmp_path, {"00.png": "apple"})
    hint = refused(ConfigError, "does not fit", root, PIXELS, labels=str(given))
    assert "folders" in hint


# ---- A flat folder ------------------------------------------------------------


def test_a_flat_folder_has_no_labels(tmp_path: Path) -> None:
    root = flat(tmp_path / "pile")
    picture(root / "_ood_" / "1.png", 999)
    dataset = load(root, PIXELS)
    assert not dataset.labelled
    assert dataset.class_names == ("0", "1", "2")
    assert {y for y, _ in everything(dataset).values()} == {0}
    assert [len(dataset.split(s)) for s in ("train", "dev", "test")] == [36, 12, 12]
    assert len(dataset.ood["ood"]) == 1
    named = load(root, PIXELS, labels="apple,pear,plum")
    assert not named.labelled
    assert named.class_names == FRUIT
    assert order(named) == order(dataset)


def test_a_flat_division_is_kept(tmp_path: Path) -> None:
    for part, count in (("train", 50), ("test", 10)):
        flat(tmp_path / "pile" / part, count)
    dataset = load(tmp_path / "pile", PIXELS)
    assert not dataset.labelled
    assert {str(o) for o in dataset.test.origins} == {f"test/{i:03d}.png" for i in range(10)}
    assert len(everything(dataset)) == 60


@pytest.mark.parametrize("form", ["name", "stem", "path"])
@pytest.mark.parametrize("kind", ["words", "numbers"])
def test_rows_label_a_flat_folder(tmp_path: Path, form: str, kind: str) -> None:
    root = flat(tmp_path / "pile")
    classes = [FRUIT[i % 3] if kind == "words" else str(i % 3) for i in range(60)]
    files = [f"{i:03d}" if form == "stem" else f"{i:03d}.png" for i in range(60)]
    given = rows(tmp_path, dict(reversed(list(zip(files, classes, strict=True)))))
    dataset = load(root, PIXELS, labels=str(given))
    assert dataset.labelled
    assert dataset.class_names == (FRUIT if kind == "words" else ("0", "1", "2"))
    for origin, (label, _) in everything(dataset).items():
        assert label == int(Path(origin).stem) % 3
    for split, count in (("train", 12), ("dev", 4), ("test", 4)):
        assert list(np.bincount(dataset.split(split).y)) == [count] * 3


def test_files_and_rows_must_be_the_same(tmp_path: Path) -> None:
    root = flat(tmp_path / "pile")
    said = {f"{i:03d}.png": str(i % 3) for i in range(60)}
    given = rows(tmp_path, {f: c for f, c in said.items() if f not in ("007.png", "009.png")})
    refused(ConfigError, r"no line for 007\.png", root, PIXELS, labels=str(given))
    given = rows(tmp_path, {**said, "x.png": "0", "y.png": "0"})
    refused(ConfigError, r"a line for x\.png, which is not in", root, PIXELS, labels=str(given))
    given = rows(tmp_path, {**said, "007.png": "3"})
    refused(ConfigError, r"labels\.csv has the label 3", root, PIXELS, labels=str(given))
    given = rows(tmp_path, {**said, "007.png": "apple"})
    refused(ConfigError, "4 classes, the model answers with 3", root, PIXELS, labels=str(given))


def test_a_row_for_two_files_is_told(tmp_path: Path) -> None:
    for part in ("train", "test"):
        flat(tmp_path / "pile" / part, 30)
    said = {f"{i:03d}": str(i % 3) for i in range(30)}
    given = rows(tmp_path, said)
    hint = refused(
        ConfigError,
        r"'000' of .* may be test/000\.png or train/000\.png",
        tmp_path / "pile",
        PIXELS,
        labels=str(given),
    )
    assert "path" in hint
    paths = {f"{p}/{f}.png": c for p in ("train", "test") for f, c in said.items()}
    dataset = load(tmp_path / "pile", PIXELS, labels=str(rows(tmp_path, paths)))
    assert len(everything(dataset)) == 60


def test_the_row_of_a_broken_file_is_no_mistake(tmp_path: Path) -> None:
    root = flat(tmp_path / "pile")
    (root / "007.png").write_text("no image")
    given = rows(tmp_path, {f"{i:03d}.png": str(i % 3) for i in range(60)})
    assert len(everything(load(root, PIXELS, labels=str(given)))) == 59


def test_numbers_of_examples_are_not_for_files(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.arange(60) % 3)
    hint = refused(
        ConfigError,
        r"y\.npy does not fit",
        flat(tmp_path / "pile"),
        PIXELS,
        labels=str(tmp_path / "y.npy"),
    )
    assert ".csv" in hint


# ---- Mistakes -----------------------------------------------------------------


def test_folders_with_nothing_to_read_are_told(tmp_path: Path) -> None:
    root = tmp_path / "pile"
    root.mkdir()
    refused(ConfigError, r"neither images nor \.wav", root, PIXELS)
    (root / "notes.txt").write_text("nothing here")
    picture(root / "_ood_" / "1.png", 1)
    refused(ConfigError, r"neither images nor \.wav", root, PIXELS)


def test_two_kinds_are_told(tmp_path: Path) -> None:
    root = flat(tmp_path / "pile")
    tone(root / "1.wav", 440)
    refused(ConfigError, "both images and .wav", root, PIXELS)


def test_too_few_files_are_told(tmp_path: Path) -> None:
    hint = refused(ConfigError, "pile has 49 examples", flat(tmp_path / "pile", 49), PIXELS)
    assert "50" in hint
    load(flat(tmp_path / "more", 50), PIXELS)


def test_a_division_without_train_or_with_an_empty_part_is_told(tmp_path: Path) -> None:
    flat(tmp_path / "pile" / "test")
    refused(ConfigError, "no training examples", tmp_path / "pile", PIXELS)
    (tmp_path / "pile" / "train").mkdir()
    refused(ConfigError, "60 in test, 0 in train", tmp_path / "pile", PIXELS)


def test_a_rare_class_is_no_obstacle(tmp_path: Path) -> None:
    """Heads need no labels: where a class cannot be in every split, none is stratified."""
    root = fruit(tmp_path / "fruit", count=30)
    for path in sorted((root / "pear").iterdir())[3:]:
        path.unlink()
    dataset = load(root, PIXELS)
    assert [len(dataset.split(s)) for s in ("train", "dev", "test")] == [37, 13, 13]
    assert sum(int(np.sum(dataset.split(s).y == 1)) for s in ("train", "dev", "test")) == 3


# ---- Sounds -------------------------------------------------------------------


@pytest.fixture
def whistles(tmp_path: Path) -> Path:
    for c, name in enumerate(("high", "low")):
        for i in range(25):
            tone(tmp_path / "whistles" / name / f"{i}.wav", (1000, 300)[c] + i)
    return tmp_path / "whistles"


def test_sounds_are_clips_of_a_second_for_the_front_end_that_fits(whistles: Path) -> None:
    tone(whistles / "_ood_" / "1.wav", 5_000, 2.0)
    tone(whistles / "_background_noise_" / "hum.wav", 6_000, 3.0)
    dataset = load(whistles, KEYWORDS, labels="low,high")
    for origin, (label, x) in everything(dataset).items():
        assert (x.shape, x.dtype) == ((RATE,), np.int16)
        np.testing.assert_array_equal(x, wavfile.read(whistles / origin)[1])
        assert ("low", "high")[label] == origin.split("/")[0]
    assert dataset.front_end(dataset.dev.x).shape == (len(dataset.dev), 49, 10, 1)
    assert dataset.ood["ood"].shape == (1, RATE)
    assert any("mlperf-kws" in note for note in dataset.notes)


def test_what_features_are_kept_by_follows_all_that_they_are_made_from(whistles: Path) -> None:
    tone(whistles / "_ood_" / "1.wav", 5_000)
    given = {"labels": "low,high"}
    seen = [load(whistles, KEYWORDS, **given).identity]
    assert load(whistles, KEYWORDS, **given).identity == seen[0]
    log_mel = Wanted((98, 40, 1), 2, 0.05, 0)
    seen.append(load(whistles, log_mel, **given).identity)
    tone(whistles / "_ood_" / "1.wav", 4_000)
    seen.append(load(whistles, KEYWORDS, **given).identity)
    tone(whistles / "_background_noise_" / "hum.wav", 6_000, 3.0)
    seen.append(load(whistles, KEYWORDS, **given).identity)
    assert len(set(seen)) == len(seen)
    assert None not in seen


def test_noises_of_the_folder_are_mixed_in(whistles: Path) -> None:
    tone(whistles / "_background_noise_" / "hum.wav", 6_000, 3.0)
    dataset = load(whistles, KEYWORDS, augment_dev=True)
    x = dataset.dev.x[:2]
    noisy = dataset.corrupted(x, "background_noise", 5, seed=0)
    at = np.abs(np.fft.rfft(noisy.astype(float), axis=1))[:, 6_000]
    assert (at > 100 * np.abs(np.fft.rfft(x.astype(float), axis=1))[:, 6_000]).all()
