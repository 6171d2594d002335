"""What long streams show: enough events, clean frames, sudden and gradual, and recovery."""

from itertools import pairwise

import numpy as np
import pytest

from snapcli.judging.field_stream import (
    CLEAN,
    CLEAN_FRAMES,
    DEVICES,
    EPISODE_FRAMES,
    GRADUAL,
    SUDDEN,
    FieldStreams,
    clean_scenes,
    field_streams,
    paper_streams,
)
from tests.unit.judging.made_frames import made_split

BEFORE = 64


@pytest.fixture(scope="module")
def streams() -> FieldStreams:
    return field_streams(made_split(), BEFORE, seed=0)


def episodes(streams: FieldStreams) -> list[str]:
    """Their kinds: neighbouring parts of one kind, less what is clean, are one."""
    kinds = [[part.kind for part in device if len(part.rows)] for device in streams.devices]
    found = []
    for device in kinds:
        found += [b for a, b in pairwise([CLEAN, *device]) if b != CLEAN and a == CLEAN]
    return found


def test_there_are_ten_episodes_of_each_kind_and_50_000_clean_frames(streams: FieldStreams) -> None:
    found = episodes(streams)
    assert len(streams.devices) == DEVICES
    assert found.count(SUDDEN) >= 10
    assert found.count(GRADUAL) >= 10
    assert streams.clean.sum() >= CLEAN_FRAMES


def test_every_device_begins_with_a_baseline_that_nothing_is_judged_by(
    streams: FieldStreams,
) -> None:
    for device in streams.devices:
        assert device[0].kind == CLEAN
        assert len(device[0].rows) > BEFORE
    length = streams.right.shape[1]
    assert streams.values("U").shape == (DEVICES, BEFORE + length)
    assert streams.clean.shape == streams.uncertainty_q16.shape == (DEVICES, length)
    assert streams.clean[:, 0].all()


def test_clean_frames_come_back_after_every_episode(streams: FieldStreams) -> None:
    ends = streams.episode_ends
    assert len(ends) == len(episodes(streams))
    for device, frame in ends:
        assert streams.clean[device, frame]
        assert not streams.clean[device, frame - EPISODE_FRAMES : frame].any()
        assert streams.clean[device, frame : frame + EPISODE_FRAMES].all()


def test_a_gradual_shift_goes_up_and_down_again(streams: FieldStreams) -> None:
    for device in streams.devices:
        parts = [part for part in device if part.kind == GRADUAL]
        for at in range(0, len(parts), 8):
            accuracy = [part.frames.accuracy for part in parts[at : at + 8]]
            assert accuracy == accuracy[::-1]
            assert accuracy[:4] == sorted(accuracy[:4], reverse=True)


def test_frames_are_those_of_their_part(streams: FieldStreams) -> None:
    split = made_split()
    allowed = set(split.clean.values("U").tolist())
    assert set(streams.values("U")[:, :BEFORE].ravel().tolist()) <= allowed
    assert streams.right[streams.clean].mean() == pytest.approx(split.clean.accuracy, abs=0.01)


def test_the_same_seed_gives_the_same_streams() -> None:
    first, again, other = (
        field_streams(made_split(), BEFORE, seed).values("U") for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first[:, :500], other[:, :500])


def test_in_scenes_an_example_stays(streams: FieldStreams) -> None:
    still = clean_scenes(made_split(), 20_000, 4, seed=0).values("S")
    repeats = float(np.mean(still[1:] == still[:-1]))
    assert repeats == pytest.approx(3 / 4, abs=0.02)
    moving = clean_scenes(made_split(), 20_000, 1, seed=0).values("S")
    assert float(np.mean(moving[1:] == moving[:-1])) < 0.01
    of_devices = field_streams(made_split(), BEFORE, seed=0, scene=4)
    assert of_devices.right.shape[1] >= CLEAN_FRAMES // DEVICES


def test_the_papers_streams_get_worse_with_bursts_of_foreign_frames() -> None:
    streams = paper_streams(made_split(), BEFORE, seed=0)
    assert streams.right.shape[1] == 7_400
    assert streams.clean[:, :2_000].all()
    assert not streams.clean[:, 2_000:].any()
    # 400 foreign frames, which are never right.
    foreign = [sum(len(p.rows) for p in d if not p.frames.right.any()) for d in streams.devices]
    assert set(foreign) == {400}
    accuracy = [p.frames.accuracy for p in streams.devices[0] if p.frames.right.any()]
    assert accuracy == sorted(accuracy, reverse=True)


def test_a_type_without_severities_comes_suddenly_alone() -> None:
    streams = field_streams(made_split(drops=(0.2,)), BEFORE, seed=0)
    assert set(episodes(streams)) == {SUDDEN}
