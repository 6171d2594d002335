"""The conditions a monitor is judged on."""

import threading
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.dataset import SEVERITIES, Inputs, Published, Raw
from snapcli.data.evaluation import Evaluation, Key


@cache
def small() -> Dataset:
    """A few digits, the same ones for dev and test."""
    full = load_dataset(TrainOptions())
    few = full.test.take(np.arange(6))
    return replace(full, dev=few, test=few, ood={k: x[:3] for k, x in full.ood.items()})


def test_every_condition_is_there_once_and_in_the_same_order() -> None:
    keys = Evaluation(small(), 10).keys
    cells = [(name, s) for name in small().corruptions for s in SEVERITIES]
    for split in ("dev", "test"):
        found = [(k.condition, k.severity) for k in keys if k.split == split]
        assert found == [("clean", 0), *cells]
    assert [k.condition for k in keys if k.split == "ood"] == list(small().ood)
    assert len(keys) == 2 * (1 + 8 * 5) + 3


def test_each_gives_what_inputs_gives_and_in_order() -> None:
    evaluation = Evaluation(small(), 10)
    each = list(evaluation.each())
    assert [key for key, _ in each] == list(evaluation.keys)
    for key, x in each:
        np.testing.assert_array_equal(x, evaluation.inputs(key), err_msg=str(key))
    assert evaluation.examples == sum(len(x) for _, x in each)


@pytest.mark.parametrize("name", ["gaussian_noise", "impulse_noise", "occlusion", "translation"])
def test_dev_and_test_draw_different_noise(name: str) -> None:
    evaluation = Evaluation(small(), 10)
    dev, test = (evaluation.inputs(Key(split, "clean")) for split in ("dev", "test"))
    np.testing.assert_array_equal(dev, test)
    for severity in SEVERITIES:
        dev, test = (evaluation.inputs(Key(split, name, severity)) for split in ("dev", "test"))
        assert not np.array_equal(dev, test)


def test_the_limit_takes_the_same_examples_of_every_condition_but_all_clean_ones() -> None:
    full = load_dataset(TrainOptions())
    evaluation = Evaluation(full, 50)
    rows = {key: evaluation.rows(key) for key in evaluation.keys}
    for split, everything in (("dev", full.dev), ("test", full.test)):
        assert len(rows[Key(split, "clean")]) == len(everything)
        chosen = {tuple(r) for k, r in rows.items() if k.split == split and k.severity}
        (one,) = chosen
        assert len(set(one)) == 50
    for key in (Key("test", "blur", 3), Key("ood", "letters")):
        assert len(evaluation.inputs(key)) == 50
    labels = evaluation.labels(Key("test", "blur", 3))
    np.testing.assert_array_equal(labels, full.test.y[rows[Key("test", "blur", 3)]])


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    full = load_dataset(TrainOptions())
    key = Key("test", "gaussian_noise", 2)
    np.testing.assert_array_equal(
        Evaluation(full, 540).inputs(key), Evaluation(full, 10_000).inputs(key)
    )


def test_labels_belong_to_the_split_and_foreign_examples_have_none() -> None:
    full = load_dataset(TrainOptions())
    evaluation = Evaluation(full, 1000)
    for split in ("dev", "test"):
        found = evaluation.labels(Key(split, "blur", 3))
        np.testing.assert_array_equal(found, full.split(split).y)
    assert evaluation.labels(Key("ood", "letters")) is None


def test_published_corruptions_are_taken_for_test_and_made_for_dev() -> None:
    stored = {s: np.full_like(small().test.x, s / 10) for s in (1, 2)}
    published = {"blur": Published((1, 2), lambda severity: stored[severity])}
    evaluation = Evaluation(replace(small(), published=published), 4)
    assert [k.severity for k in evaluation.keys if k.split == "test" and k.condition == "blur"] == [
        1,
        2,
    ]
    found = evaluation.inputs(Key("test", "blur", 2))
    np.testing.assert_array_equal(found, stored[2][:4])
    dev = evaluation.inputs(Key("dev", "blur", 2))
    made = Evaluation(small(), 4).inputs(Key("dev", "blur", 2))
    np.testing.assert_array_equal(dev, made)


def test_only_a_few_conditions_are_held_at_once() -> None:
    """The lookahead is bounded: a slow reader does not fill the memory."""
    made: list[int] = []
    lock = threading.Lock()

    def counted(x: Raw) -> Inputs:
        with lock:
            made.append(len(x))
        return np.asarray(x, np.float32)

    evaluation = Evaluation(replace(small(), front_end=counted), 4)
    most = 0
    for taken, _ in enumerate(evaluation.each(), start=1):
        most = max(most, len(made) - taken)
    assert 0 < most < 20 < len(evaluation.keys)


def test_an_identity_makes_inputs_be_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path))
    calls: list[int] = []

    def counted(x: Raw) -> Inputs:
        calls.append(len(x))
        return np.asarray(x, np.float32)

    named = replace(small(), front_end=counted, identity="one")
    key = Key("test", "occlusion", 3)
    first = Evaluation(named, 4).inputs(key)
    np.testing.assert_array_equal(Evaluation(named, 4).inputs(key), first)
    assert len(calls) == 1
    Evaluation(replace(named, identity="two"), 4).inputs(key)
    Evaluation(named, 5).inputs(key)
    assert len(calls) == 3


def test_halves_are_the_same_examples_in_every_condition() -> None:
    """What was made of an example that is held out is held out as well."""
    evaluation = Evaluation(load_dataset(TrainOptions()), 50)
    kept = set(np.flatnonzero(evaluation.first_half(Key("dev", "clean"))))
    assert len(kept) == len(evaluation.dataset.dev) / 2
    for key in (k for k in evaluation.keys if k.split == "dev"):
        rows, half = evaluation.rows(key), evaluation.first_half(key)
        assert [row in kept for row in rows] == half.tolist()
        assert 0 < half.sum() < len(half)
