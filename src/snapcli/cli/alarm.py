"""snap alarm"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.cli.render import figure, percent, ranged, signed
from snapcli.config import SUMS, AlarmOptions, override
from snapcli.errors import UsageError

if TYPE_CHECKING:
    from snapcli.results.alarm import AlarmReport, Group, ShiftFound, StreamFound

EXAMPLES = (
    "snap alarm",
    'snap alarm --false-alarms "1 per week" --rate 4Hz',
    "snap alarm --detector betting --on F --baseline 1000",
    "snap alarm --clean-stream watched.jsonl",
    "snap alarm --detector cusum --push --port /dev/ttyACM0",
)
_KINDS = {
    "harmful": "cost 10 points or more",
    "slight": "cost 3 to 10 points",
    "harmless": "cost less than 3",
    "foreign": "foreign inputs",
}
_WORST = 5
# Silences that are so many times as long as asked for are told as longer than that.
_RARE = 1000


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
    push: Annotated[
        bool, typer.Option("--push", help="Give it to a board over the link, without a build.")
    ] = False,
    port: Annotated[
        str | None, typer.Option(help="Serial port of the board; otherwise the only one.")
    ] = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Fit an alarm for accuracy that drops, and say what it finds and promises."""
    from snapcli.cli.calibrate import show_push
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.alarm import alarm as stage
    from snapcli.stages.push import find_receiver
    from snapcli.stages.push import push as push_stage

    if port and not push:
        raise UsageError("--port belongs to --push", "Add --push.")
    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(run_recipe(chosen).alarm, **given)
    # A board that does not answer shall be known before anything changes.
    receiver = find_receiver(port) if push else None
    with console.progress("alarm") as on_progress:
        report = stage(chosen, options, clean_stream, on_progress)
    if receiver is None:
        console.print_json(report) if json else show(report)
        return
    with console.progress("push") as on_progress:
        pushed = push_stage(chosen, receiver, on_progress)
    if json:
        console.print_json({"alarm": report, "push": pushed})
    else:
        show(report)
        show_push(pushed)


def show(report: "AlarmReport") -> None:
    silence = report.silence
    rows = [
        ("detector", f"{report.detector} on {report.signal}"),
        ("threshold", _threshold(report)),
        ("baseline", _baseline(report)),
        *(
            [("dependent frames", f"{report.block} in a row tell as much as one")]
            if report.clean_stream_frames
            else []
        ),
        ("false alarms, asked for", f"one in {_frames(silence.asked, report)}"),
        ("expected", f"one in {_frames(silence.expected, report)}"),
        ("at least, 95 % sure", f"one in {_frames(silence.at_least, report)}"),
        (
            "on clean test frames",
            f"{silence.test_alarms} in {silence.test_frames:,}, drawn independently; on in "
            f"{percent(silence.test_on)}",
        ),
        ("cost", _cost(report)),
    ]
    console.pairs(f"alarm: {report.run}", rows)
    console.say(report.reason)
    if report.enough:
        console.note(report.enough)
    console.table(
        f"Shifts of test data that begin suddenly, found within {report.watched} frames",
        ("shifts that", "how many", "found", "median", "90 %"),
        [_group(group, report.watched) for group in report.groups if group.shifts],
    )
    _by_type(report)
    _streams(report)
    _scenes(report)
    _estimate(report)


def _threshold(report: "AlarmReport") -> str:
    if report.detector in SUMS:
        return f"{report.threshold:.2f} nats of evidence"
    return f"{report.threshold:.2f} nats a frame above the device's own, over 64 frames"


def _baseline(report: "AlarmReport") -> str:
    if not report.baseline:
        return "that of dev data"
    return f"the first {report.baseline:,} frames of each start; no alarm meanwhile"


def _frames(count: float, report: "AlarmReport") -> str:
    rate, most = report.frames_per_second, _RARE * report.silence.asked
    told = f"{min(count, most):,.0f} frames"
    in_time = f" ({_duration(min(count, most) / rate)})" if rate else ""
    return f"{'more than ' if count > most else ''}{told}{in_time}"


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


def _group(group: "Group", watched: int) -> tuple[str, ...]:
    return (
        _KINDS[group.name],
        str(group.shifts),
        percent(group.found),
        _delay(group.median, watched),
        _delay(group.slow, watched),
    )


def _delay(frames: float, watched: int) -> str:
    """A dash where none of them was found in time."""
    return "-" if frames >= watched or math.isnan(frames) else f"{frames:.0f}"


def _by_type(report: "AlarmReport") -> None:
    """A row for each type, its severities as columns; foreign sets have none."""
    shifts = [shift for shift in report.shifts if not shift.is_foreign]
    by_name: dict[str, dict[int, ShiftFound]] = {}
    for shift in shifts:
        by_name.setdefault(shift.name, {})[shift.severity] = shift
    severities = sorted({shift.severity for shift in shifts})
    rows = []
    for name, of_type in by_name.items():
        cells = [_shift(of_type.get(severity), report.watched) for severity in severities]
        rows.append((name, *cells))
    console.wide_table(
        "By severity: points that it costs, median delay (share found, if not all)",
        ("type", *map(str, severities)),
        rows,
    )


def _shift(shift: "ShiftFound | None", watched: int) -> str:
    if shift is None:
        return ""
    found = "" if shift.found == 1 else f" ({100 * shift.found:.0f} %)"
    return f"{100 * shift.drop:z.0f}: {_delay(shift.median, watched)}{found}"


def _streams(report: "AlarmReport") -> None:
    scenes = report.scenes
    shown = {
        "dev": report.dev_stream,
        "test": report.test_stream,
        "test, as in the paper": report.paper_stream,
        f"test, scenes of {scenes.scene}": scenes.without,
        f"the same, block {scenes.block}": scenes.with_block,
    }
    console.wide_table(
        "Long streams: drops of 10 points found, false alarms per 10,000 clean frames",
        ("streams", "events", "found", "delay", "false", "clears", "AUPRC", "max-probability"),
        [_stream(name, found) for name, found in shown.items() if found],
    )
    paper = report.paper_stream
    console.say(
        f"AUPRC: of the frames in events, {percent(paper.share)} on the paper's streams. Single "
        f"frames have {figure(paper.single)} there, of max-probability "
        f"{figure(paper.plain_single)}; it is ahead of the same detector on max-probability by "
        f"{signed(paper.ahead)}."
    )


def _stream(name: str, found: "StreamFound") -> tuple[str, ...]:
    return (
        name,
        str(found.events),
        f"{found.found} of {found.harmful}",
        _known(found.delay),
        f"{found.false_alarms:.1f}",
        _known(found.clears),
        ranged(found.auprc),
        figure(found.plain),
    )


def _known(frames: float) -> str:
    return "-" if math.isnan(frames) else f"{frames:.0f}"


def _scenes(report: "AlarmReport") -> None:
    scenes = report.scenes
    console.say(
        f"Scenes: examples that stay for {scenes.scene} frames on average, made of independent "
        "ones. The alarm above does not expect them; block: fitted anew with what a clean stream "
        f"of them says.{f' {scenes.why}' if scenes.why else ''}"
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
