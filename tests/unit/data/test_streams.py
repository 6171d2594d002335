"""Streams: the order of the paper, disjoint examples, and no more than a segment in memory."""

import hashlib
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.dataset import SEVERITIES, Inputs, Raw
from snapcli.data.streams import (
    FOREIGN,
    Stream,
    build_clean_run,
    build_stream,
    foreign_rows,
)

SPLITS = ("dev", "test")


@cache
def digits() -> Dataset:
    return load_dataset(TrainOptions())


@cache
def plenty() -> Dataset:
    """More examples than frames; images of one pixel that tell who they are."""
    data = digits()
    rows = np.resize(np.arange(len(data.test)), 20_000)
    many = data.test.take(rows)
    tagged = np.arange(len(rows), dtype=np.float32).reshape(-1, 1, 1, 1)
    return replace(data, dev=replace(many, x=tagged), test=replace(many, x=-tagged))


@pytest.mark.parametrize("split", SPLITS)
def test_the_order_is_that_of_the_paper(split: str) -> None:
    stream = build_stream(digits(), split, seed=13)
    assert len(stream) == 2000 + 5 * 1000 + 4 * 100
    runs: list[tuple[str, int, int]] = []
    for segment in stream.segments:
        kind = (segment.kind, segment.severity)
        if runs and runs[-1][:2] == kind and segment.kind == "corrupted":
            runs[-1] = (*kind, runs[-1][2] + len(segment))
        else:
            runs.append((*kind, len(segment)))
    expected: list[tuple[str, int, int]] = [("clean", 0, 2000)]
    for severity in SEVERITIES:
        expected.append(("corrupted", severity, 1000))
        if severity < 5:
            expected.append(("foreign", 0, 100))
    assert runs == expected


@pytest.mark.parametrize(
    ("split", "digest"), [("dev", "ae170718c38ecf3f"), ("test", "be15ec9122c14fc2")]
)
def test_streams_are_those_that_were_judged_before(split: str, digest: str) -> None:
    found = hashlib.sha256()
    for segment in build_stream(digits(), split, seed=13).segments:
        named = f"{segment.kind} {segment.condition} {segment.severity} {segment.first}"
        found.update(named.encode())
        found.update(segment.rows.astype("<i8").tobytes())
    assert found.hexdigest()[:16] == digest


def test_segments_follow_each_other_without_gap() -> None:
    stream = build_stream(digits(), "test", seed=13)
    assert stream.segments[0].first == 0
    for before, after in pairwise(stream.segments):
        assert after.first == before.first + len(before)


def test_types_change_every_200_frames_and_all_of_them_come() -> None:
    corrupted = [s for s in build_stream(digits(), "dev", 1).segments if s.kind == "corrupted"]
    assert all(len(segment) == 200 for segment in corrupted)
    for severity in SEVERITIES:
        types = [s.condition for s in corrupted if s.severity == severity]
        assert len(set(types)) == len(types) == 5
    assert {s.condition for s in corrupted} == set(digits().corruptions)


def test_every_foreign_set_gets_its_burst() -> None:
    bursts = [s.condition for s in build_stream(digits(), "test", 1).segments if not s.severity]
    assert set(bursts) == {"clean", *digits().ood}


def test_dev_and_test_share_no_example() -> None:
    assert not set(digits().dev.origins) & set(digits().test.origins)
    for name in digits().ood:
        dev, test = (foreign_rows(digits(), name, split) for split in SPLITS)
        assert not set(dev) & set(test)
        assert len(dev) + len(test) == len(digits().ood[name])
        for split, mine in zip(SPLITS, (dev, test), strict=True):
            for seed in (13, 17):
                shown = [
                    s.rows
                    for s in build_stream(digits(), split, seed).segments
                    if s.condition == name
                ]
                assert set(np.concatenate(shown)) <= set(mine)


def test_with_plenty_of_examples_none_comes_twice() -> None:
    stream = build_stream(plenty(), "test", seed=3)
    rows = np.concatenate([s.rows for s in stream.segments if s.kind != "foreign"])
    assert len(set(rows)) == len(rows) == 7000


def test_with_few_an_example_returns_only_after_all_others() -> None:
    stream = build_stream(digits(), "dev", seed=3)
    rows = np.concatenate([s.rows for s in stream.segments if s.kind != "foreign"])
    whole = len(digits().dev)
    for start in range(0, len(rows) - whole, whole):
        assert len(set(rows[start : start + whole])) == whole


@pytest.mark.parametrize("seed", [13, 17, 23])
def test_an_example_returns_under_another_type_or_severity(seed: int) -> None:
    """540 examples for 7,000 frames: within a segment none comes twice."""
    corrupted = [s for s in build_stream(digits(), "test", seed).segments if s.severity]
    assert len({(s.condition, s.severity) for s in corrupted}) == len(corrupted)
    for segment in corrupted:
        assert len(set(segment.rows)) == len(segment)


def test_foreign_examples_stay_on_the_side_that_they_were_given() -> None:
    sides = np.array(["dev", "test", "test"] * 180)
    data = replace(digits(), ood_splits={"letters": sides})
    for split in SPLITS:
        np.testing.assert_array_equal(
            foreign_rows(data, "letters", split), np.flatnonzero(sides == split)
        )


def test_frames_carry_their_labels_and_foreign_ones_none() -> None:
    stream = build_stream(digits(), "test", seed=5)
    for frames in stream.frames():
        segment = frames.segment
        assert len(frames.x) == len(frames.y) == len(segment)
        if segment.kind == "foreign":
            assert (frames.y == FOREIGN).all()
            np.testing.assert_array_equal(frames.x, digits().ood[segment.condition][segment.rows])
        else:
            np.testing.assert_array_equal(frames.y, digits().test.y[segment.rows])
        if segment.kind == "clean":
            np.testing.assert_array_equal(frames.x, digits().test.x[segment.rows])
        if segment.kind == "corrupted":
            assert not np.array_equal(frames.x, digits().test.x[segment.rows])


def same(a: Stream, b: Stream) -> bool:
    return all(
        np.array_equal(x.rows, y.rows) and x.condition == y.condition
        for x, y in zip(a.segments, b.segments, strict=True)
    )


def test_a_stream_follows_its_seed() -> None:
    assert same(build_stream(digits(), "test", 13), build_stream(digits(), "test", 13))
    assert not same(build_stream(digits(), "test", 13), build_stream(digits(), "test", 17))
    first, again = (
        [frames.x for frames in build_stream(digits(), "test", 13).frames()] for _ in range(2)
    )
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_building_makes_no_frame_and_playing_makes_one_segment_at_a_time() -> None:
    made: list[int] = []

    def counted(x: Raw) -> Inputs:
        made.append(len(x))
        return np.asarray(x, np.float32)

    stream = build_stream(replace(digits(), front_end=counted), "dev", 13)
    assert made == []
    for played, frames in enumerate(stream.frames(), start=1):
        assert len(made) == played
        assert made[-1] == len(frames.x) <= 2000


def test_the_clean_run_is_clean_and_long() -> None:
    run = build_clean_run(digits(), "dev", 13)
    assert len(run) == 5000
    assert {segment.kind for segment in run.segments} == {"clean"}
    stream = build_stream(digits(), "dev", 13)
    assert not np.array_equal(run.segments[0].rows[:2000], stream.segments[0].rows)
