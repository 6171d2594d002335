"""A stream as a timeline: score, threshold, events, alarms, and what was shown when."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from snapcli.report.contents import DeviceStream, PlayedAlarm
from snapcli.report.markup import label, path, svg, tag
from snapcli.report.numbers import decimal, is_known, plural
from snapcli.report.scale import Scale
from snapcli.results.eval import MethodFigures, StreamView

_WIDTH, _LEFT, _RIGHT = 1080, 52, 16
_SCORE, _ALARMS, _TICKS, _STRIP, _GAP = 130, 12, 18, 20, 6
_TOP, _NAMES = 26, 74


@dataclass(frozen=True)
class Lane:
    """One score over the stream. thresholds: one for all groups, or one each. alarms: groups in
    which there was one; strip: what they are called."""

    name: str
    look: str
    score: Sequence[float]
    thresholds: Sequence[float]
    alarms: Sequence[bool]
    strip: str = "alarms"


def lane(method: MethodFigures, look: str) -> Lane:
    """Of a method of eval: an alarm is a score above the threshold."""
    threshold = method.events.threshold if method.events else nan
    above = [s >= threshold for s in method.stream]
    return Lane(method.name, look, method.stream, [threshold] if is_known(threshold) else [], above)


def device_lane(stream: DeviceStream) -> Lane:
    return Lane(
        "U of the device", "m-snap", stream.score, stream.threshold, stream.abstained, "refused"
    )


def alarm_lane(alarm: PlayedAlarm, name: str) -> Lane:
    return Lane(name, "m-snap", alarm.statistic, [alarm.threshold], alarm.on)


def first_alarms(
    alarms: Sequence[bool], events: Sequence[Sequence[int]], frames: int
) -> list[int | None]:
    """Of each event the first frame, to a group's precision, in which there was an alarm."""
    group = _group(frames, len(alarms))
    alarms_at: list[int | None] = []
    for onset, offset in events:
        inside = (
            max(i * group, onset)
            for i in range(onset // group, min(-(-offset // group), len(alarms)))
            if alarms[i]
        )
        alarms_at.append(next(inside, None))
    return alarms_at


def _group(frames: int, groups: int) -> int:
    """Frames of each group but the last, which may have fewer."""
    return -(-frames // max(groups, 1)) or 1


def timeline(view: StreamView, lane: Lane, name: str, is_first: bool = True) -> str:
    """What all lanes of a stream have in common is drawn by the first, under the name; the others
    refer to it."""
    frames = view.frames
    across = Scale(0, frames, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _SCORE
    strip = bottom + _ALARMS + _TICKS + 2 * _GAP
    low, high = _range(lane)
    up = Scale(low, high, bottom, _TOP)
    if is_first:
        shared = [*_events(view, across), *_segments(view, across, strip)]
        shared += [label(across(t), strip - 7, f"{t:,.0f}", "middle") for t in across.ticks(8)]
        shared.append(label(_LEFT - 7, strip - 7, "frame", "end"))
        parts = [tag("g", *shared, id=name)]
    else:
        parts = [tag("use", href=f"#{name}")]
    for tick in up.ticks(5):
        ends = f"M{_LEFT},{up(tick):.1f}H{_WIDTH - _RIGHT}"
        parts.append(tag("path", d=ends, class_="grid"))
        parts.append(label(_LEFT - 7, up(tick) + 3.5, f"{tick:g}", "end"))
    group = _group(frames, len(lane.score))
    middles = [across(min((i + 0.5) * group, frames)) for i in range(len(lane.score))]
    drawn = [(x, up.clipped(s)) for x, s in zip(middles, lane.score, strict=True) if s == s]
    score = tag("path", d=path(drawn, 0), class_="line thin") if drawn else ""
    parts.append(tag("g", score, class_=f"series {lane.look}"))
    parts += _threshold(lane, middles, up)
    parts.append(_alarms(lane, across, group, bottom + _GAP))
    parts += _delays(view, lane, across, frames)
    parts.append(label(_LEFT - 7, bottom + _GAP + 9, lane.strip, "end"))
    title = f"{lane.name} over {plural(frames, 'frame')}"
    return svg(_WIDTH, strip + _STRIP + _NAMES, title, *parts)


def _range(lane: Lane) -> tuple[float, float]:
    """Nearly all of the score, and the threshold: a few extreme frames must not flatten it."""
    score = np.array([s for s in lane.score if s == s])
    if not len(score):
        return 0.0, 1.0
    ends = [float(v) for v in np.quantile(score, (0.002, 0.998))]
    ends += [t for t in lane.thresholds if score.min() <= t <= score.max()]
    low, high = min(ends), max(ends)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _events(view: StreamView, across: Scale) -> list[str]:
    parts = []
    for number, (onset, offset) in enumerate(view.events, start=1):
        x, width = across(onset), across(offset) - across(onset)
        tip = f"event {number}\nframes {onset:,} to {offset - 1:,}"
        shade = tag(
            "rect", x=x, y=_TOP, width=width, height=_SCORE + _ALARMS + _GAP, class_="event"
        )
        parts.append(tag("g", shade, data_tip=tip))
    return parts


def _segments(view: StreamView, across: Scale, strip: float) -> list[str]:
    parts = []
    for segment in view.segments:
        x, end = across(segment.first), segment.first + segment.frames
        width = across(end) - x
        severity = segment.severity
        name = segment.condition.replace("_", " ")
        tip = f"{name}{f', severity {severity}' if severity else ''}\n{segment.kind}, frames "
        tip += f"{segment.first:,} to {end - 1:,}"
        look = f"segment {segment.kind} s-{severity}"
        box = tag("rect", x=x, y=strip, width=max(width - 1, 1.0), height=_STRIP, class_=look)
        middle = x + width / 2 - 0.5
        if severity:
            box += label(middle, strip + 14, str(severity), "middle", f"inside s-{severity}")
        below = strip + _STRIP + 12
        turn = f'<text transform="rotate(-40 {middle + 4:.1f} {below})" '
        words = label(middle + 4, below, name, "end", "tick")
        parts.append(tag("g", box, words.replace("<text ", turn, 1), data_tip=tip))
    return parts


def _threshold(lane: Lane, middles: Sequence[float], up: Scale) -> list[str]:
    if not lane.thresholds:
        return []
    if len(lane.thresholds) == 1:
        y = up.clipped(lane.thresholds[0])
        line = tag("path", d=f"M{_LEFT},{y:.1f}H{_WIDTH - _RIGHT}", class_="threshold")
    else:
        moving = [(x, up.clipped(t)) for x, t in zip(middles, lane.thresholds, strict=True)]
        y = moving[-1][1]
        line = tag("path", d=path(moving, 0), class_="threshold")
    tip = f"threshold {decimal(lane.thresholds[-1])}"
    return [
        tag("g", line, data_tip=tip),
        label(_WIDTH - _RIGHT, y - 4, "threshold", "end", "tick halo"),
    ]


def _alarms(lane: Lane, across: Scale, group: int, y: float) -> str:
    """One path for all of them; neighbours are one bar."""
    padded = np.concatenate([[0], np.asarray(lane.alarms, np.int8), [0]])
    edges = np.diff(padded)
    bars = []
    starts, ends = (np.flatnonzero(edges == side).tolist() for side in (1, -1))
    for start, end in zip(starts, ends, strict=True):
        x = across(start * group)
        width = max(across.clipped(end * group) - x, 1.0)
        bars.append(f"M{x:.1f},{y}h{width:.1f}v{_ALARMS}h-{width:.1f}z")
    return tag("path", d="".join(bars), class_="alarm") if bars else ""


def _delays(view: StreamView, lane: Lane, across: Scale, frames: int) -> list[str]:
    """Above every event: how long its first alarm took."""
    parts = []
    first = first_alarms(lane.alarms, view.events, frames)
    for (onset, offset), alarm in zip(view.events, first, strict=True):
        x = across((onset + offset) / 2)
        if alarm is None:
            parts.append(label(x, _TOP - 8, "missed", "middle", "missed"))
            continue
        y = _TOP - 3
        if across(alarm) - across(onset) > 2:
            ends = f"M{across(onset):.1f},{y}H{across(alarm):.1f}"
            parts.append(tag("path", d=ends, class_="delay"))
        parts.append(label(x, _TOP - 8, f"{alarm - onset:,}", "middle", "tick"))
    if view.events:
        parts.append(label(_LEFT - 7, _TOP - 8, "delay", "end"))
    return parts
