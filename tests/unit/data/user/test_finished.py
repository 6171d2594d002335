"""How the form of the data is told, and what all forms have in common."""

from pathlib import Path

import numpy as np
import pytest

from snapcli.config import AttachOptions
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.user.finished import load_given
from snapcli.errors import ArtifactError, UsageError
from tests.unit.data.user.given import (
    KEYWORDS,
    PIXELS,
    SIGNED,
    everything,
    fruit,
    inputs,
    load,
    npz,
    refused,
    tone,
)


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        ("", "unknown data ''", "module:function"),
        ("digit", "unknown data 'digit'", "Did you mean digits"),
        ("nothing", "unknown data 'nothing'", "PATH"),
        ("gone/recordings", "there is no gone/recordings", "folder"),
        ("gone.npz", r"there is no gone\.npz", ".npz"),
    ],
)
def test_what_is_not_there_is_told(data: str, message: str, hint: str) -> None:
    assert hint in refused(UsageError, message, data, SIGNED)


def test_a_file_of_another_kind_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", inputs())
    refused(ArtifactError, r"x\.npy cannot be read", tmp_path / "x.npy", SIGNED)


def test_unlabelled_data_go_through_every_condition(tmp_path: Path) -> None:
    """The stages read data by their conditions, labelled or not."""
    path = npz(tmp_path, x=inputs(), ood=inputs(5, seed=1))
    evaluation = Evaluation(load(path, SIGNED), limit=4)
    keys = (Key("dev", "clean"), Key("test", "clean"), Key("ood", "ood"))
    assert evaluation.keys == keys
    assert [len(x) for _, x in evaluation.each()] == [12, 12, 4]


def test_corruptions_are_there_if_they_are_asked_for(tmp_path: Path) -> None:
    root = fruit(tmp_path / "fruit")
    assert load(root, PIXELS).corruptions == {}
    dataset = load(root, PIXELS, augment_dev=True)
    evaluation = Evaluation(dataset, limit=4)
    assert Key("dev", "fog", 5) in evaluation.keys
    fog = evaluation.inputs(Key("dev", "fog", 5))
    assert fog.shape == (4, *PIXELS.shape)
    assert 0 <= fog.min() < fog.max() <= 255
    clean = dataset.front_end(dataset.dev.x[evaluation.rows(Key("dev", "fog", 5))])
    assert np.abs(fog - clean).mean() > 10


def test_features_of_sounds_are_kept_for_the_front_end_that_made_them(tmp_path: Path) -> None:
    for c in range(2):
        for i in range(25):
            tone(tmp_path / "sounds" / str(c) / f"{i}.wav", 300 * (c + 1) + i)
    dataset = load(tmp_path / "sounds", KEYWORDS, augment_dev=True)
    key = Key("test", "band_limit", 3)
    first = np.array(Evaluation(dataset, 3).inputs(key))
    again = Evaluation(load(tmp_path / "sounds", KEYWORDS, augment_dev=True), 3).inputs(key)
    assert isinstance(again, np.memmap)
    np.testing.assert_array_equal(first, again)


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    options = AttachOptions(data=str(fruit(tmp_path / "fruit")))
    dataset = load_given(options, PIXELS, lambda *step: told.append(step))
    assert told[-1] == (60, 60, "files read")
    assert len(everything(dataset)) == 60
