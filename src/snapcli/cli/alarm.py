"""snap alarm"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.cli.render import figure, percent, ranged, signed
from snapcli.config import AlarmOptions, override

if TYPE_CHECKING:
    from snapcli.results.alarm import AlarmReport, Group, StreamFound

EXAMPLES = (
    "snap alarm",
    'snap alarm --false-alarms "1 per week" --rate 4Hz',
    "snap alarm --detector betting --on F --baseline 1000",
    "snap alarm --clean-stream watched.jsonl",
)
_KINDS = {
    "harmful": "cost 10 points or more",
    "slight": "cost 3 to 10 points",
    "harmless": "cost less than 3",
    "foreign": "foreign inputs",
}
_WORST = 5


@takes(AlarmOptions)
def alarm(
    given: Given,
    clean_stream: Annotated[
        Path | None,
        typer.Option(
            help="Clean frames in the order they came, by which the alarm learns how much they "
            "depend on each other: a record of snap monitor --record, or inputs as .npy.",
        ),
    ] = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Fit an alarm for accuracy that drops, and say what it finds and promises."""
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.alarm import alarm as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(run_recipe(chosen).alarm, **given)
    with console.progress("alarm") as on_progress:
        report = stage(chosen, options, clean_stream, on_progress)
    console.print_json(report) if json else show(report)


def show(report: "AlarmReport") -> None:
    silence, block = report.silence, report.block
    rows = [
        ("detector", f"{report.detector} on {report.signal}. {report.reason}"),
        ("threshold", f"{report.threshold:.2f} nats of evidence"),
        ("baseline", _baseline(report)),
        *(
            [("frames that depend", f"{block} tell as much as one; evidence counts 1/{block}")]
            if report.clean_stream_frames
            else []
        ),
        ("false alarms, asked for", f"one in {_frames(silence.asked, report)}"),
        ("expected", f"one in {_frames(silence.expected, report)}"),
        ("at least, 95 % sure", f"{_frames(silence.at_least, report)} between two"),
        (
            "on clean test frames",
            f"{silence.test_alarms} in {silence.test_frames:,}, drawn independently",
        ),
        ("cost", _cost(report)),
    ]
    console.pairs(f"alarm: {report.run}", rows)
    if report.enough:
        console.note(report.enough)
    console.table(
        f"Shifts of test data that begin suddenly, found within {report.watched} frames",
        ("shifts that", "how many", "found", "median", "90 %"),
        [_group(group) for group in report.groups if group.shifts],
    )
    console.table(
        "Long streams",
        ("streams", "events", "of 10 points", "found", "delay", "false per 10,000", "AUPRC"),
        [_stream("dev", report.dev_stream), _stream("test", report.test_stream)],
    )
    _compared(report)
    _estimate(report)


def _baseline(report: "AlarmReport") -> str:
    if not report.baseline:
        return "that of dev data"
    return f"the first {report.baseline:,} frames of each start; no alarm meanwhile"


def _frames(count: float, report: "AlarmReport") -> str:
    rate = report.frames_per_second
    told = f"{count:,.0f} frames" if count < 1e12 else "more than 1e12 frames"
    return f"{told} ({_duration(count / rate)})" if rate else told


def _duration(seconds: float) -> str:
    for name, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {name}"
    return f"{seconds:,.1f} s"


def _cost(report: "AlarmReport") -> str:
    state = f"{report.state_bytes} bytes of state for each stream"
    if report.instructions is None:
        return f"{state}; instructions not counted: no compiler or emulator"
    return f"{state}, {report.instructions} instructions a frame"


def _group(group: "Group") -> tuple[str, ...]:
    return (
        _KINDS[group.name],
        str(group.shifts),
        percent(group.found),
        f"{group.median:.0f}",
        f"{group.slow:.0f}",
    )


def _stream(name: str, found: "StreamFound") -> tuple[str, ...]:
    return (
        name,
        str(found.events),
        str(found.harmful),
        str(found.found),
        f"{found.delay:.0f}",
        f"{found.false_alarms:.1f}",
        ranged(found.auprc),
    )


def _compared(report: "AlarmReport") -> None:
    test = report.test_stream
    console.say(
        f"AUPRC on the test stream: single frames of {report.signal} {figure(test.single)}, of "
        f"max-probability {figure(test.plain_single)}; the same detector on max-probability "
        f"{figure(test.plain)}, which is behind by {signed(test.ahead)}."
    )


def _estimate(report: "AlarmReport") -> None:
    found = report.accuracy
    if found is None:
        console.say("Estimated accuracy: none, because the data have no labels.")
        return
    console.say(
        f"Estimated accuracy, the mean of 1 - U over 256 frames: off by {percent(found.test)} on "
        f"average on the test stream (dev {percent(found.dev)}); by more than 5 points in "
        f"{len(found.off)} of {found.conditions} conditions{':' if found.off else '.'}"
    )
    for off in found.off[:_WORST]:
        severity = f" {off.severity}" if off.severity else ""
        told = f"{percent(off.estimated)} estimated, {percent(off.true)} true"
        console.say(f"  {off.name}{severity}: {told}")
