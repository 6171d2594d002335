"""Alarms and delays of a stream, to the precision of its groups."""

from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapcli.report.timeline import Lane, first_alarms, timeline
from snapcli.results.eval import StreamSegment, StreamView


@given(st.integers(1, 9), st.integers(1, 60), st.data())
def test_the_first_alarm_of_an_event(group: int, groups: int, data: st.DataObject) -> None:
    """Against every frame by itself."""
    frames = group * groups - data.draw(st.integers(0, (group - 1) // groups))
    alarms = data.draw(st.lists(st.booleans(), min_size=groups, max_size=groups))
    onset = data.draw(st.integers(0, frames - 1))
    offset = data.draw(st.integers(onset + 1, frames))
    by_frame = np.repeat(alarms, group)[:frames]
    inside = np.flatnonzero(by_frame[onset:offset])
    expected = onset + int(inside[0]) if len(inside) else None
    assert first_alarms(alarms, [(onset, offset)], frames) == [expected]


def words(alarms: Sequence[bool], is_first: bool = True) -> list[str | None]:
    segments = (
        StreamSegment("clean", "clean", 0, 0, 10),
        StreamSegment("corrupted", "shot_noise", 3, 10, 30),
    )
    view = StreamView(40, 0.9, ((12, 24),), segments)
    lane = Lane("snap", "m-snap", [0.1, 0.2, 0.9, 0.8], [0.5], alarms)
    root = ElementTree.fromstring(timeline(view, lane, "stream-int8", is_first))
    return [element.text for element in root.iter("text")]


def test_delays_and_names() -> None:
    found = words([False, False, True, True])
    assert "8" in found
    assert {"clean", "shot noise", "3", "threshold"} <= set(found)
    assert "missed" in words([True, False, False, True])
    # What the first lane has drawn, the next one refers to.
    assert "shot noise" not in words([False, False, True, True], is_first=False)
