"""The keyword set: official splits, no file or speaker in two of them, and what is foreign."""

import os
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.sets.speechcmd import CLASSES, KEYWORDS, NOISE_FOLDER, UNKNOWN, speaker
from snapcli.errors import ArtifactError

UNSEEN = ("bird", "zero")
NOISES = ("doing_the_dishes", "exercise_bike", "pink_noise", "running_tap", "white_noise")
SPLITS = ("train", "dev", "test")
REAL = Path(os.environ.get("SNAP_DATA_DIR", ""))  # before tests look away from it
SPEAKERS = {"train": 6, "dev": 2, "test": 2}


def write_wav(path: Path, samples: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(samples.astype("<i2").tobytes())


def lay_out(root: Path) -> Path:
    """Two clips of every word by every speaker; the lists name a clip that is not there."""
    folder = root / "speech_commands_v0.01"
    rng = np.random.default_rng(0)
    lists: dict[str, list[str]] = {"dev": ["yes/ffffffff_nohash_0.wav"], "test": []}
    for word in (*KEYWORDS, *UNKNOWN, *UNSEEN):
        for split in SPLITS:
            for person in range(SPEAKERS[split]):
                for take in range(2):
                    name = f"{word}/{split}{person}_nohash_{take}.wav"
                    write_wav(folder / name, rng.integers(-9000, 9000, 12_000 + 4000 * take))
                    if split != "train":
                        lists[split].append(name)
    for noise in NOISES:
        write_wav(folder / NOISE_FOLDER / f"{noise}.wav", rng.integers(-3000, 3000, 48_000))
    (folder / "validation_list.txt").write_text("\n".join(lists["dev"]) + "\n")
    (folder / "testing_list.txt").write_text("\n".join(lists["test"]) + "\n")
    (folder / "README.md").write_text("about\n")
    return folder


def load(root: Path, **options: object) -> Dataset:
    return load_dataset(TrainOptions(dataset="speechcmd", data_dir=str(root), **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("speech")
    lay_out(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNAP_CACHE_DIR", str(root / "cache"))
        patch.delenv("SNAP_DATA_DIR", raising=False)
        yield root


@pytest.fixture(scope="module")
def dataset(root: Path) -> Dataset:
    return load(root)


def prove_disjoint(data: Dataset) -> None:
    files = {s: {o.partition("@")[0] for o in data.split(s).origins} for s in SPLITS}
    spoken = {s: {f for f in files[s] if not f.startswith(NOISE_FOLDER)} for s in SPLITS}
    people = {s: {speaker(f) for f in spoken[s]} for s in SPLITS}
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert files[one]
        assert not files[one] & files[other]
        assert people[one]
        assert not people[one] & people[other]
    # Within a split a clip stands once; cuts of noise have their place in the name.
    for split in SPLITS:
        origins = data.split(split).origins
        clips = [o for o in origins if not o.startswith(NOISE_FOLDER)]
        assert len(set(clips)) == len(clips)


def test_no_file_and_no_speaker_is_in_two_splits(dataset: Dataset) -> None:
    prove_disjoint(dataset)


def test_no_file_and_no_speaker_of_the_real_clips_is_in_two_splits() -> None:
    if not (REAL / "speech_commands_v0.01").is_dir():
        pytest.skip("SNAP_DATA_DIR names no folder with speech_commands_v0.01")
    prove_disjoint(load(REAL))


def test_the_splits_are_the_official_ones(root: Path, dataset: Dataset) -> None:
    for split, file in (("dev", "validation_list.txt"), ("test", "testing_list.txt")):
        listed = set((root / "speech_commands_v0.01" / file).read_text().split())
        mine = {o for o in dataset.split(split).origins if not o.startswith(NOISE_FOLDER)}
        assert mine <= listed
        keywords = {o for o in listed if o.split("/")[0] in KEYWORDS}
        assert keywords - mine <= {"yes/ffffffff_nohash_0.wav"}


def test_every_clip_has_the_label_of_its_word(dataset: Dataset) -> None:
    assert dataset.class_names == CLASSES
    assert len(CLASSES) == 12
    for split in SPLITS:
        data = dataset.split(split)
        for origin, label in zip(data.origins, data.y, strict=True):
            word = origin.split("/")[0]
            expected = {NOISE_FOLDER: "silence"} | dict.fromkeys(UNKNOWN, "unknown")
            assert CLASSES[label] == expected.get(word, word)


def test_unknown_and_silence_are_as_many_as_a_keyword(dataset: Dataset) -> None:
    for split in SPLITS:
        counts = np.bincount(dataset.split(split).y, minlength=12)
        assert set(counts) == {2 * SPEAKERS[split]}


def test_remaining_words_are_foreign_and_never_trained_on(root: Path, dataset: Dataset) -> None:
    for split in SPLITS:
        assert not {o.split("/")[0] for o in dataset.split(split).origins} & set(UNSEEN)
    clips = dataset.ood["unseen-words"]
    assert len(clips) == len(UNSEEN) * 2 * (SPEAKERS["dev"] + SPEAKERS["test"])


def test_short_clips_are_reflected_to_a_second(root: Path, dataset: Dataset) -> None:
    row = int(np.flatnonzero(np.char.startswith(dataset.train.origins, "yes/train0_nohash_0"))[0])
    name = root / "speech_commands_v0.01" / str(dataset.train.origins[row])
    with wave.open(str(name)) as file:
        original = np.frombuffer(file.readframes(12_000), "<i2")
    found = dataset.train.x[row]
    assert found.dtype == np.int16
    assert found.shape == (16_000,)
    before = (16_000 - 12_000) // 2
    np.testing.assert_array_equal(found, np.pad(original, (before, 4000 - before), "reflect"))


def test_inputs_are_log_mels(dataset: Dataset) -> None:
    assert dataset.input_shape == (98, 40, 1)
    varied = dataset.augmented(dataset.train.x[:8], np.random.default_rng(0))
    again = dataset.augmented(dataset.train.x[:8], np.random.default_rng(0))
    np.testing.assert_array_equal(varied, again)
    assert varied.shape == (8, 98, 40, 1)
    assert not np.allclose(varied, dataset.front_end(dataset.train.x[:8]), atol=0.1)


def test_noise_of_dev_and_test_comes_from_other_files(dataset: Dataset) -> None:
    noises = {
        s: {o.partition("@")[0] for o in dataset.split(s).origins if o.startswith(NOISE_FOLDER)}
        for s in SPLITS
    }
    assert noises["dev"] == {f"{NOISE_FOLDER}/running_tap.wav"}
    assert noises["test"] == {f"{NOISE_FOLDER}/pink_noise.wav"}
    x = dataset.test.x[:4]
    on_dev, on_test = (
        dataset.corrupted(x, "background_noise", 5, seed=1, split=s) for s in ("dev", "test")
    )
    assert not np.array_equal(on_dev, on_test)
    same = [dataset.corrupted(x, "band_limit", 5, seed=1, split=s) for s in ("dev", "test")]
    np.testing.assert_array_equal(*same)


def test_what_the_lists_name_and_the_folder_lacks_is_counted(dataset: Dataset) -> None:
    assert any("name 1 clips that are not in" in note for note in dataset.notes)
    assert any("ESC-50 is not here" in note for note in dataset.notes)


def test_a_broken_clip_is_named_and_skipped_or_refused(tmp_path: Path, root: Path) -> None:
    folder = lay_out(tmp_path)
    (folder / "yes" / "train0_nohash_0.wav").write_bytes(b"RIFF not sound")
    data = load(tmp_path)
    named, count = data.notes[:2]
    assert count == "1 broken file was skipped"
    assert "train0_nohash_0.wav" in named
    assert "yes/train0_nohash_0.wav" not in data.train.origins
    # The same from the cache, and an error if one is wanted.
    assert load(tmp_path).notes == data.notes
    with pytest.raises(ArtifactError, match=r"train0_nohash_0\.wav"):
        load(tmp_path, strict=True)


def test_esc50_joins_where_it_is(tmp_path: Path, root: Path) -> None:
    lay_out(tmp_path)
    rng = np.random.default_rng(1)
    for i in range(3):
        write_wav(tmp_path / "esc50" / f"{i}.wav", rng.integers(-99, 99, 40_000))
    data = load(tmp_path)
    assert data.ood["esc50"].shape == (12, 16_000)
    assert len({clip.tobytes() for clip in data.ood["esc50"]}) == 12
    # Cuts of one sound stay on one side; unseen words follow the official lists.
    assert data.ood_splits["esc50"].tolist() == ["dev", "test", "dev"] * 4
    assert sorted(data.ood_splits["unseen-words"]) == ["dev"] * 8 + ["test"] * 8


def test_the_data_directory_comes_before_any_other(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another folder has the newer version."""
    newer = lay_out(tmp_path)
    newer.rename(tmp_path / "speech_commands_v0.02")
    monkeypatch.setenv("SNAP_DATA_DIR", str(tmp_path))
    assert any(str(root) in note for note in load(root).notes)


@pytest.mark.parametrize(
    "gone", ["yes", "validation_list.txt", "testing_list.txt", f"{NOISE_FOLDER}/pink_noise.wav"]
)
def test_what_is_missing_is_named(tmp_path: Path, root: Path, gone: str) -> None:
    folder = lay_out(tmp_path)
    (folder / gone).rename(tmp_path / "elsewhere")
    with pytest.raises(ArtifactError) as caught:
        load(tmp_path)
    assert gone.partition("/")[0] in caught.value.message


def test_the_identity_follows_the_files(tmp_path: Path, root: Path, dataset: Dataset) -> None:
    folder = lay_out(tmp_path)
    first = load(tmp_path).identity
    assert first == load(tmp_path).identity != dataset.identity
    write_wav(folder / "up" / "train0_nohash_0.wav", np.zeros(16_000))
    assert load(tmp_path).identity != first


def test_the_identity_follows_the_lists_the_noises_and_esc50(tmp_path: Path, root: Path) -> None:
    """Features of all splits, of noisy and of foreign clips are kept under it."""
    folder = lay_out(tmp_path)
    seen = [load(tmp_path).identity]
    path = folder / "testing_list.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    seen.append(load(tmp_path).identity)
    write_wav(folder / NOISE_FOLDER / "pink_noise.wav", np.ones(50_000))
    seen.append(load(tmp_path).identity)
    for level in (5, 6):
        write_wav(tmp_path / "esc50" / "1.wav", np.full(40_000 + level, level))
        seen.append(load(tmp_path).identity)
    assert len(set(seen)) == len(seen)


def test_a_list_that_leaves_nothing_is_told(tmp_path: Path, root: Path) -> None:
    folder = lay_out(tmp_path)
    (folder / "testing_list.txt").write_text("")
    with pytest.raises(ArtifactError, match="without a clip of 'yes'"):
        load(tmp_path)


def test_an_esc50_without_sounds_is_told(tmp_path: Path, root: Path) -> None:
    lay_out(tmp_path)
    write_wav(tmp_path / "esc50" / "click.wav", np.ones(100))
    with pytest.raises(ArtifactError, match=r"esc50 has no \.wav files"):
        load(tmp_path)
