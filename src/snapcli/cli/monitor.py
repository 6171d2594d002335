"""snap monitor"""

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, RunPath, RunsDir, TargetName
from snapcli.cli.render import percent, plural
from snapcli.cli.view import View

if TYPE_CHECKING:
    from snapcli.stages.monitor import MonitorSession, Recorder

EXAMPLES = (
    "snap monitor",
    "snap monitor --port /dev/ttyACM0 --record watched.jsonl",
    "snap monitor --source test --frames 200",
    "snap monitor --port /dev/ttyACM0 --frames 0 --collect kept/ --device 17",
)
_PICTURE_S, _LINE_S = 0.1, 1.0


def monitor(
    target: TargetName = None,
    port: Annotated[
        str | None,
        typer.Option(
            help="Serial port of the device; with a board as --target, the only port is used."
        ),
    ] = None,
    source: Annotated[
        str, typer.Option(help="What the device is fed: stream, or test (clean test examples).")
    ] = "stream",
    frames: Annotated[
        int | None, typer.Option(min=0, help="Stop after this many frames; 0 feeds none.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="A new file: a line of JSON for each frame."),
    ] = None,
    collect: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="A folder for what the device has kept: its telemetry record (snap fleet), and "
            "the most surprising inputs, to be labelled, if its image has room for some "
            "(snap flash --evidence 8).",
        ),
    ] = None,
    device: Annotated[
        int, typer.Option(min=0, max=2**64 - 1, help="A number for the device, in the record.")
    ] = 0,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Watch a device decide, live; q or Ctrl-C ends it.

    c ends an alarm by hand, b has the device learn anew what is normal.
    """
    from snapcli.stages.monitor import recording, watch

    chosen = opened(run, runs_dir, allow_code=allow_code)
    # Ctrl-C is how this ends, also where it comes before the first frame.
    view, kept = None, None
    with (
        suppress(KeyboardInterrupt),
        recording(record) as recorder,
        watch(chosen, target, port, source, frames) as watched,
    ):
        view = View(watched)
        with suppress(KeyboardInterrupt):
            _show(view, watched, recorder)
        if collect is not None:
            kept = watched.collect(collect, device)
    if view and view.frames:
        shares = [percent(count / view.frames) for count in (view.abstained, view.foreign)]
        told = f"{shares[0]} abstained, {shares[1]} called foreign{view.alarms()}"
        stored = f" Recorded in {record}." if record else ""
        console.say(f"{plural(view.frames, 'frame')}, {told}.{stored}")
    if kept:
        told = f"{plural(kept.inputs, 'input')} that the device had kept"
        none = "the image has no room for inputs (snap flash --evidence 8)"
        counted = "a telemetry record" if kept.record else "no telemetry, as there were no frames"
        console.say(f"In {collect}: {counted}; {told if kept.capacity else none}.")


def _show(view: View, watched: "MonitorSession", recorder: "Recorder") -> None:
    """A picture in a terminal, else a line now and then."""
    from snapcli.cli.keys import pressed

    with console.live() as draw, pressed() as keys:
        pause = _PICTURE_S if draw else _LINE_S
        due = 0.0
        for seen in watched.seen:
            recorder.add(seen)
            view.add(seen)
            is_last = seen.frame + 1 == watched.frames
            if time.monotonic() < due and not is_last:
                continue
            due = time.monotonic() + pause
            if draw:
                draw(view.lines(console.width()))
            else:
                console.say(view.plain())
            typed = keys()
            if "q" in typed:
                return
            if "c" in typed:
                watched.clear_alarm()
            if "b" in typed:
                watched.learn_baseline()
