"""Evidence holds what it says it holds: every number of an example can be followed."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from snapcli.config import CalibrateOptions
from snapcli.data.dataset import Dataset, Inputs, Split
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.streams import CLEAN_RUN_FRAMES, FOREIGN, build_stream
from snapcli.judging.evidence import DEV_SEED, Evidence, collect, collect_dev
from snapcli.methods.method import LOGITS

# Every input is (number of the example, its split or OOD set, what was done to it).
SPLITS = {"train": 0, "dev": 1, "test": 2, "strange": 3}
COUNTS = {"train": 7000, "dev": 300, "test": 340, "strange": 90}
LIMIT = 50
OPTIONS = CalibrateOptions()
DONE = {"fog": 10.0, "noise": 20.0}


def numbered(name: str) -> np.ndarray:
    x = np.zeros((COUNTS[name], 1, 1, 3), np.float32)
    x[:, 0, 0, 0], x[:, 0, 0, 1] = np.arange(COUNTS[name]), SPLITS[name]
    return x


def split(name: str) -> Split:
    count = COUNTS[name]
    return Split(
        numbered(name), np.arange(count) % 7, np.array([f"{name} {i}" for i in range(count)])
    )


def corruption(name: str):
    def corrupted(x: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
        return x + np.array([0, 0, DONE[name] + severity], np.float32)

    return corrupted


def dataset(types: tuple[str, ...] = tuple(DONE)) -> Dataset:
    return Dataset(
        name="numbers",
        class_names=tuple("abcdefg"),
        train=split("train"),
        dev=split("dev"),
        test=split("test"),
        corruptions={name: corruption(name) for name in types},
        ood={"strange": numbered("strange")},
    )


def observe(x: Inputs) -> dict[str, np.ndarray]:
    return {LOGITS: np.eye(7)[x[:, 0, 0, 0].astype(int) % 7], "x": x[:, 0, 0].astype(float)}


@cache
def collected() -> tuple[Evidence, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    evaluation = Evaluation(dataset(), LIMIT)
    found = collect(
        observe, evaluation, OPTIONS, 2, lambda done, total, _: told.append((done, total))
    )
    return found, told


def expected(rows: np.ndarray, name: str, done: float = 0.0) -> np.ndarray:
    return np.stack([rows, np.full(len(rows), SPLITS[name]), np.full(len(rows), done)], axis=-1)


def test_conditions_hold_the_examples_that_their_rows_name() -> None:
    evidence, _ = collected()
    for key, batch in evidence.conditions.items():
        foreign = key.split == "ood"
        name = key.condition if foreign else key.split
        done = DONE.get(key.condition, 0.0) + key.severity
        rows = evidence.rows[key]
        np.testing.assert_array_equal(batch.outputs["x"], expected(rows, name, done))
        np.testing.assert_array_equal(batch.y, np.full(len(rows), FOREIGN) if foreign else rows % 7)
        assert len(rows) == (COUNTS[name] if key.condition == "clean" else LIMIT)


def test_dev_test_and_foreign_are_kept_apart() -> None:
    evidence, _ = collected()
    cells = {(name, severity) for name in DONE for severity in range(1, 6)}
    assert set(evidence.dev.corrupted) == cells
    assert {(k.condition, k.severity) for k in evidence.cells} == cells
    assert {k.split for k in evidence.cells} == {"test"}
    assert evidence.foreign == [Key("ood", "strange")]
    for batch in evidence.dev.batches():
        assert set(batch.outputs["x"][:, 1]) == {SPLITS["dev"]}
    assert set(evidence.clean.outputs["x"][:, 1]) == {SPLITS["test"]}
    assert set(evidence.train.outputs["x"][:, 1]) == {SPLITS["train"]}


def test_training_examples_are_clean_and_evenly_spaced() -> None:
    train = collected()[0].train
    numbers = train.outputs["x"][:, 0]
    assert (numbers[0], numbers[-1], len(numbers)) == (0, COUNTS["train"] - 1, 5000)
    assert set(np.diff(numbers)) <= {1.0, 2.0}
    assert not train.outputs["x"][:, 2].any()
    np.testing.assert_array_equal(train.y, numbers % 7)


def test_what_was_held_out_for_a_promise_no_method_sees() -> None:
    """Nor any copy of it; streams and test data are as always."""
    promising = replace(OPTIONS, threshold="risk")
    found = collect(observe, Evaluation(dataset(), LIMIT), promising, 1, lambda *_: None)
    for batch in found.dev.batches():
        assert len(batch)
        assert not np.any(batch.outputs["x"][:, 0] % 2)
    for key, rows in found.rows.items():
        np.testing.assert_array_equal(found.conditions[key].outputs["x"][:, 0], rows)
    usual, _ = collected()
    for key in (Key("test", "clean"), *usual.cells):
        np.testing.assert_array_equal(found.rows[key], usual.rows[key])
    for ours, theirs in zip(found.dev_streams, usual.dev_streams, strict=True):
        for one, other in zip(ours.parts, theirs.parts, strict=True):
            np.testing.assert_array_equal(one.outputs["x"], other.outputs["x"])


@pytest.mark.parametrize("threshold", ["coverage", "risk"])
def test_dev_data_can_be_had_alone(threshold: str) -> None:
    options = replace(OPTIONS, threshold=threshold)
    evaluation = Evaluation(dataset(), LIMIT)
    whole = collect(observe, evaluation, options, 0, lambda *_: None)
    train, dev = collect_dev(observe, evaluation, options, lambda *_: None)
    pairs = [(train, whole.train), *zip(dev.batches(), whole.dev.batches(), strict=True)]
    assert dev.types() == whole.dev.types()
    for one, other in pairs:
        np.testing.assert_array_equal(one.outputs["x"], other.outputs["x"])
        np.testing.assert_array_equal(one.y, other.y)


def test_streams_show_the_frames_of_their_plan() -> None:
    evidence, _ = collected()
    assert (len(evidence.dev_streams), len(evidence.test_streams)) == (1, 2)
    plans = [("dev", DEV_SEED, evidence.dev_streams[0])]
    plans += [("test", seed, played) for seed, played in enumerate(evidence.test_streams)]
    for name, seed, played in plans:
        plan = build_stream(dataset(), name, seed)
        assert len(played) == len(plan)
        for frames, segment, part in zip(plan.frames(), played.segments, played.parts, strict=True):
            assert (segment.kind, segment.first) == (frames.segment.kind, frames.segment.first)
            np.testing.assert_array_equal(part.outputs["x"], frames.x[:, 0, 0])
            np.testing.assert_array_equal(part.y, frames.y)


def test_the_normal_run_is_clean_and_of_its_own_split() -> None:
    evidence, _ = collected()
    for name, played in (("dev", evidence.dev_streams[0]), ("test", evidence.test_streams[1])):
        x = played.normal.outputs["x"]
        assert len(x) == CLEAN_RUN_FRAMES
        np.testing.assert_array_equal(x, expected(x[:, 0], name))
        np.testing.assert_array_equal(played.normal.y, x[:, 0] % 7)
        # Another order than the stream's.
        assert not np.array_equal(x[:200], played.parts[0].outputs["x"][:200])


def test_progress_ends_where_it_said() -> None:
    _, told = collected()
    assert len({total for _, total in told}) == 1
    assert told[-1][0] == told[-1][1]
    assert told == sorted(told)


def test_without_streams_or_corruptions_there_is_none() -> None:
    for types, streams in ((tuple(DONE), 0), ((), 3)):
        evaluation = Evaluation(dataset(types), LIMIT)
        found = collect(observe, evaluation, OPTIONS, streams, lambda *_: None)
        assert (found.dev_streams, found.test_streams) == ((), ())
