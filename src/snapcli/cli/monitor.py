"""snap monitor"""

import time
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
    frames: Annotated[int | None, typer.Option(min=1, help="Stop after this many frames.")] = None,
    record: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="A new file: a line of JSON for each frame."),
    ] = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Watch a device decide, live; q or Ctrl-C ends it."""
    from snapcli.stages.monitor import recording, watch

    chosen = opened(run, runs_dir, allow_code=allow_code)
    # Ctrl-C is how this ends, also where it comes before the first frame.
    view: View | None = None
    try:
        with recording(record) as recorder, watch(chosen, target, port, source, frames) as watched:
            view = View(watched)
            _show(view, watched, recorder)
    except KeyboardInterrupt:
        pass
    if view and view.frames:
        shares = [percent(count / view.frames) for count in (view.abstained, view.foreign)]
        told = f"{shares[0]} abstained, {shares[1]} called foreign"
        stored = f" Recorded in {record}." if record else ""
        console.say(f"{plural(view.frames, 'frame')}, {told}.{stored}")


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
            if "q" in keys():
                return
