"""What one device of the long streams saw and what its alarm said, as a picture shows it."""

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.judging.alarms import label_events
from snapcli.judging.field_stream import CLEAN, FieldStreams
from snapcli.judging.shifts import Shift, SplitFrames
from snapcli.metrics.thinning import thinned
from snapcli.results.alarm import AlarmTimeline
from snapcli.results.eval import StreamSegment, StreamView

_Q16 = 65536


def timeline_of(
    alarm: fx.Alarm, streams: FieldStreams, frames: SplitFrames, signal: str
) -> AlarmTimeline:
    """Of the first device, without its baseline."""
    values = streams.values(signal)[:1]
    played = fx.alarm_run(alarm, fx.alarm_start(alarm), values, np.zeros_like(values))
    on, statistic = (found[0, streams.before :] for found in played)
    labelled = label_events(streams, frames)
    events = tuple((e.onset, e.offset) for e in labelled.events if e.offset <= len(on))
    return AlarmTimeline(
        view=StreamView(len(on), labelled.lower, events, _segments(streams, frames)),
        statistic=tuple((thinned(statistic) / _Q16).tolist()),
        threshold=alarm.threshold_q16 / _Q16,
        on=tuple(thinned(on).tolist()),
    )


def _segments(streams: FieldStreams, frames: SplitFrames) -> tuple[StreamSegment, ...]:
    shifts = {shift.frames: shift for shift in (*frames.shifts, *frames.foreign)}
    segments, first = [], -streams.before
    for part in streams.devices[0]:
        begin, end = max(first, 0), first + len(part.rows)
        if end > begin:
            shown = _shown(shifts.get(part.frames))
            segments.append(StreamSegment(*shown, begin, end - begin))
        first = end
    return tuple(segments)


def _shown(shift: Shift | None) -> tuple[str, str, int]:
    """Kind, condition and severity."""
    if shift is None:
        return CLEAN, CLEAN, 0
    return "foreign" if shift.is_foreign else "corrupted", shift.name, shift.severity
