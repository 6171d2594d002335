"""Accuracy-drop events: the window, the band, the rules of merging and discarding."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.metrics.events import (
    Band,
    Event,
    event_frames,
    find_events,
    normal_band,
    windowed_accuracy,
)

SURE = Band(mean=1.0, deviation=0.1)  # an event below 0.7
streams = st.lists(st.booleans(), min_size=1, max_size=300).map(lambda v: np.array(v, bool))


@given(streams, st.integers(1, 40))
def test_the_window_is_the_last_frames(correct: np.ndarray, window: int) -> None:
    found = windowed_accuracy(correct, window)
    for t in range(len(correct)):
        if t + 1 < window:
            assert np.isnan(found[t])
        else:
            assert found[t] == pytest.approx(correct[t + 1 - window : t + 1].mean())


def test_the_band_is_that_of_the_windows() -> None:
    correct = np.random.default_rng(0).random(20_000) < 0.9
    band = normal_band(correct)
    assert band.mean == pytest.approx(0.9, abs=0.01)
    assert band.deviation == pytest.approx(np.sqrt(0.9 * 0.1 / 100), rel=0.2)
    assert band.lower == pytest.approx(band.mean - 3 * band.deviation)


def blocks(*lengths: int) -> np.ndarray:
    """Right, wrong, right, ... for so many frames each."""
    return np.concatenate([np.full(n, i % 2 == 0) for i, n in enumerate(lengths)])


def test_an_event_begins_and_ends_where_the_window_crosses_the_band() -> None:
    (event,) = find_events(blocks(300, 200, 300), SURE)
    # With 31 wrong ones among the last 100 it falls below 0.7, with 30 it is back: 30 frames
    # into the bad block, and 69 frames behind it.
    assert event == Event(300 + 30, 500 + 69)


def test_events_that_are_close_are_one() -> None:
    apart = find_events(blocks(300, 150, 300, 150, 300), SURE)
    assert len(apart) == 2
    # The gap between offset and onset is 39 frames shorter than that between the blocks.
    assert apart[1].onset - apart[0].offset == 300 - 39
    (joined,) = find_events(blocks(300, 150, 138, 150, 300), SURE)
    assert (joined.onset, joined.offset) == (330, 300 + 150 + 138 + 150 + 69)
    assert len(find_events(blocks(300, 150, 139, 150, 300), SURE)) == 2


def test_short_events_are_none() -> None:
    # An event is 39 frames longer than its bad block.
    assert find_events(blocks(300, 60, 300), SURE) == ()
    assert len(find_events(blocks(300, 61, 300), SURE)) == 1


def test_short_events_that_are_close_are_merged_before_they_are_judged() -> None:
    (event,) = find_events(blocks(300, 50, 100, 50, 300), SURE)
    assert event.offset - event.onset > 100


def test_a_stream_may_end_in_an_event() -> None:
    (event,) = find_events(blocks(300, 400), SURE)
    assert event.offset == 700


@given(streams, st.integers(1, 30), st.floats(0.1, 1.0))
def test_events_are_ordered_long_and_apart(correct: np.ndarray, window: int, mean: float) -> None:
    events = find_events(correct, Band(mean, 0.0), window)
    for event in events:
        assert event.offset - event.onset >= window
    for before, after in pairwise(events):
        assert after.onset - before.offset >= window
    active = event_frames(events, len(correct))
    assert active.sum() == sum(e.offset - e.onset for e in events)
    # Every frame far below the band for a whole window belongs to an event.
    low = windowed_accuracy(correct, window) < mean
    assert not (active & ~np.isin(np.arange(len(correct)), _near(low, window))).any()


def _near(low: np.ndarray, window: int) -> np.ndarray:
    """Frames that are low, or lie in a gap shorter than a window between low ones."""
    places = np.flatnonzero(low)
    found = set(places.tolist())
    for a, b in pairwise(places):
        if b - a - 1 < window:
            found |= set(range(a, b))
    return np.array(sorted(found), int)
