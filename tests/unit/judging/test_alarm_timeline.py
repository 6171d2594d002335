"""What a picture shows of one device: its segments, events, statistic and alarms."""

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.judging.alarm_timeline import timeline_of
from snapcli.judging.field_stream import CLEAN, field_streams
from snapcli.results.alarm import AlarmTimeline
from tests.unit.judging.made_frames import made_split
from tests.unit.tiny_monitor import tiny_alarm

BEFORE = 64
ALARM = tiny_alarm(baseline=BEFORE, threshold_q16=3 << 16).parameters


@pytest.fixture(scope="module")
def shown() -> AlarmTimeline:
    split = made_split()
    return timeline_of(ALARM, field_streams(split, BEFORE, seed=0), split, "U")


def test_segments_lie_end_to_end_behind_the_baseline(shown: AlarmTimeline) -> None:
    segments = shown.view.segments
    ends = [s.first + s.frames for s in segments]
    assert segments[0].first == 0
    assert [s.first for s in segments[1:]] == ends[:-1]
    assert ends[-1] == shown.view.frames
    streams = field_streams(made_split(), BEFORE, seed=0)
    parts = [p for p in streams.devices[0] if len(p.rows)]
    assert [s.kind == CLEAN for s in segments] == [p.kind == CLEAN for p in parts]
    assert sum(s.frames for s in segments) == sum(len(p.rows) for p in parts) - BEFORE
    named = {s.condition for s in segments}
    assert named <= {"clean", "blur", "fog", "hiss", "photos"}
    assert len(named) > 1
    for segment in segments:
        is_shift = segment.condition in ("blur", "fog", "hiss")
        assert segment.kind == ("corrupted" if is_shift else segment.kind)
        assert (segment.severity > 0) == is_shift


def test_statistic_and_alarm_are_those_of_the_device(shown: AlarmTimeline) -> None:
    values = field_streams(made_split(), BEFORE, seed=0).values("U")[:1]
    on, statistic = fx.alarm_run(ALARM, fx.alarm_start(ALARM), values, np.zeros_like(values))
    assert max(shown.statistic) == statistic[0, BEFORE:].max() / 65536
    assert shown.threshold == 3.0
    group = -(-shown.view.frames // len(shown.on))
    seen = on[0, BEFORE:]
    assert list(shown.on) == [seen[i : i + group].any() for i in range(0, len(seen), group)]


def test_events_are_those_of_this_device(shown: AlarmTimeline) -> None:
    assert shown.view.events
    for onset, offset in shown.view.events:
        assert 0 <= onset < offset <= shown.view.frames
