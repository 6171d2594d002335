"""What the alarm of a run promises, and what it finds."""

from collections.abc import Sequence

from snapcli.report.document import figure
from snapcli.report.markup import prose, tag, text
from snapcli.report.numbers import decimal, percent, plural
from snapcli.report.table import Column, Row, table
from snapcli.report.timeline import Lane, first_alarms, timeline
from snapcli.results.alarm import AlarmReport, AlarmTimeline, Group, ShiftFound, StreamFound

_GROUPS = {
    "harmful": "cost 10 points of accuracy or more",
    "slight": "cost 3 to 10 points",
    "harmless": "cost less than 3 points",
    "foreign": "foreign inputs",
}
# Frames; what is longer no data bear out.
_FOREVER = 10_000_000
_FOUND = (
    Column("found, %", digits=1),
    Column("median", group="delay, frames", digits=0),
    Column("90 %", group="delay, frames", digits=0),
)
_GROUPED = (Column("shifts"), Column("how many", digits=0), *_FOUND)
_SHIFTS = (
    Column("shift"),
    Column("severity", digits=0),
    Column("costs, points", digits=1),
    *_FOUND,
)
_STREAMS = (
    Column("streams"),
    Column("all", group="events", digits=0),
    Column("of 10 points", group="events", digits=0),
    Column("found", group="events", digits=0),
    Column("delay, frames", digits=0),
    Column("false per 10,000", digits=1),
    Column("alarm", group="AUPRC of frames in events"),
    Column("single frames", group="AUPRC of frames in events"),
    Column("alarm on max-probability", group="AUPRC of frames in events"),
    Column("gain on that", group="AUPRC of frames in events", is_gain=True),
)


def alarm_section(report: AlarmReport | None) -> str:
    """Empty where there is none."""
    if report is None:
        return ""
    groups = [_group(group, report.watched) for group in report.groups if group.shifts]
    shifts = [_shift(shift, report.watched) for shift in report.shifts]
    every = table("Shifts of test data", _SHIFTS, shifts, "alarm-shifts")
    return "".join(
        (
            tag("p", prose(_promise(report)), class_="words"),
            _timeline(report),
            table("Shifts that begin suddenly", _GROUPED, groups, "alarm-groups"),
            tag("details", tag("summary", text("Every shift")), every),
            table("Long streams", _STREAMS, _streams(report), "alarm-streams"),
            _accuracy(report),
        )
    )


def _promise(report: AlarmReport) -> str:
    silence = report.silence
    parts = [
        f"The detector {report.detector} adds up what {report.signal} says of each frame, and "
        f"raises an alarm at {decimal(report.threshold, 2)} nats, which ends when the statistic "
        f"has fallen again. Asked for: one false alarm in {silence.asked:,.0f} frames. Expected: "
        f"one in {_frames(silence.expected)}; as sure as 95 %, {_frames(silence.at_least)} at "
        f"least between two, for frames that are drawn independently from what dev data are like. "
        f"Counted: {plural(silence.test_alarms, 'alarm')} in {silence.test_frames:,} clean test "
        f"frames, on in {percent(silence.test_on)} of them.",
        f"The first {report.baseline:,} frames of each stream tell it how clean ones look here."
        if report.baseline
        else "",
        report.enough or "",
        f"It takes {report.state_bytes} bytes for each stream"
        + (f" and {report.instructions} instructions a frame." if report.instructions else "."),
    ]
    return " ".join(part for part in parts if part)


def _frames(count: float) -> str:
    return f"{count:,.0f} frames" if count < _FOREVER else f"more than {_FOREVER:,} frames"


def _timeline(report: AlarmReport) -> str:
    shown = report.timeline
    view = shown.view
    delays = [alarm is not None for alarm in first_alarms(shown.on, view.events, view.frames)]
    false = _false_alarms(shown)
    words = (
        "The first of the test streams, behind its baseline: clean frames, episodes of 400, and "
        f"clean frames again. Shaded: {plural(len(view.events), 'event')} in which accuracy over "
        f"100 frames falls below {percent(view.lower)}; {sum(delays)} found, the frames until then "
        "above; it is made to let those pass that cost little. Alarms that begin in clean frames: "
        f"{false}."
    )
    lane = Lane("statistic", "m-snap", shown.statistic, [shown.threshold], shown.on)
    return figure(timeline(view, lane, "alarm-stream"), "The alarm over a stream", words, wide=True)


def _false_alarms(shown: AlarmTimeline) -> int:
    """To the precision of a point of the picture."""
    view = shown.view
    group = -(-view.frames // len(shown.on))
    clean = [s for s in view.segments if s.kind == "clean"]
    begins = [i * group for i, on in enumerate(shown.on) if on and not (i and shown.on[i - 1])]
    return sum(
        any(s.first <= at < s.first + s.frames for s in clean)
        and not any(onset <= at < offset for onset, offset in view.events)
        for at in begins
    )


def _group(group: Group, watched: int) -> Row:
    return Row([_GROUPS[group.name], group.shifts, *_delays(group, watched)])


def _shift(shift: ShiftFound, watched: int) -> Row:
    severity = shift.severity or None
    return Row([shift.name.replace("_", " "), severity, 100 * shift.drop, *_delays(shift, watched)])


def _delays(found: Group | ShiftFound, watched: int) -> Sequence[float | None]:
    """Share found, median and 90 %; none for a delay that is longer than anybody watched."""
    delays = (d if d < watched else None for d in (found.median, found.slow))
    return 100 * found.found, *delays


def _streams(report: AlarmReport) -> list[Row]:
    named = {
        "dev": report.dev_stream,
        "test": report.test_stream,
        "test, as the paper has them": report.paper_stream,
        f"test, in scenes of {report.scenes.scene} frames": report.scenes.without,
    }
    if report.scenes.with_block:
        told = f"test, in scenes, evidence counts 1/{report.scenes.block}"
        named[told] = report.scenes.with_block
    return [_stream(name, found) for name, found in named.items()]


def _stream(name: str, found: StreamFound) -> Row:
    counts = (found.events, found.harmful, found.found, found.delay, found.false_alarms)
    return Row([name, *counts, found.auprc, found.single, found.plain, found.ahead])


def _accuracy(report: AlarmReport) -> str:
    found = report.accuracy
    if found is None:
        return ""
    words = (
        "Estimated accuracy, the mean of 1 \N{MINUS SIGN} U over the last 256 frames, is off by "
        f"{percent(found.test)} on average on the test streams ({percent(found.dev)} on dev); it "
        f"is off by more than 5 points in {len(found.off)} of {found.conditions} conditions."
    )
    rows = [
        Row([f"{o.name} {o.severity or ''}".strip(), 100 * o.estimated, 100 * o.true])
        for o in found.off
    ]
    columns = (Column("condition"), Column("estimated, %", digits=1), Column("true, %", digits=1))
    off = tag(
        "details",
        tag("summary", text("Where it is off")),
        table("Estimated accuracy that is off", columns, rows, "alarm-accuracy"),
    )
    return tag("p", text(words), class_="words") + (off if rows else "")
