"""snap bench"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli import measured
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir, TargetName
from snapcli.config import BenchOptions, override
from snapcli.errors import InterruptedRunError, UsageError

if TYPE_CHECKING:
    from snapcli.runs import Run

EXAMPLES = (
    "snap bench",
    "snap bench --inputs 1000 --json",
    "snap bench --port /dev/ttyACM0 --profile",
    "snap bench --target small-mcu --power-trace trace.csv --supply-voltage 3.3",
    "snap bench --stream --limit 1000",
)
_POWER, _STREAM = "Power", "Evaluation stream"


@takes(BenchOptions)
def bench(
    given: Given,
    target: TargetName = None,
    port: Annotated[
        str | None,
        typer.Option(
            help="Serial port of the device; with a board as --target, the only port is used."
        ),
    ] = None,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            rich_help_panel="Timing",
            help="Show every layer and kernel, and how far each is from its bound.",
        ),
    ] = False,
    power_trace: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            rich_help_panel=_POWER,
            help="Trace (.csv) of a power analyser: of this bench with --port, "
            "otherwise of the newest.",
        ),
    ] = None,
    supply_voltage: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=60.0,
            rich_help_panel=_POWER,
            help="Supply voltage in volts, for a trace of the current.",
        ),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            rich_help_panel=_STREAM,
            help="Play the evaluation stream instead, and store it.",
        ),
    ] = False,
    split: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_STREAM, help="Split of the stream: test or dev.  [default: test]"
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=_STREAM, help="Only the first frames of the stream."),
    ] = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Time the firmware, check its answers bit for bit."""
    from snapcli.measuring.energy import PowerTrace
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.bench import bench as stage

    timed = {f"--{name}": value for name, value in given.items()}
    timed |= {"--power-trace": power_trace, "--profile": profile or None}
    _refuse(timed if stream else {"--split": split, "--limit": limit}, stream)
    if supply_voltage is not None and power_trace is None:
        raise UsageError("--supply-voltage is for a power trace", "Give --power-trace as well.")
    chosen = opened(run, runs_dir, no_wait, allow_code)
    if stream:
        _stream(chosen, target, port, split or "test", limit, json)
        return
    board = {f"board_{name}": value for name, value in given.items()}
    options = override(run_recipe(chosen).bench, **given, **board)
    trace = PowerTrace(power_trace, supply_voltage) if power_trace else None
    with console.progress("bench") as on_progress:
        report = stage(chosen, target, options, port, trace, on_progress)
    console.print_json(report) if json else measured.bench(report, profile)


def _refuse(options: Mapping[str, object], stream: bool) -> None:
    """Options that mean nothing with, or without, --stream."""
    for name, value in options.items():
        if value is not None:
            if stream:
                raise UsageError(f"{name} is not for --stream", "Leave one of the two out.")
            raise UsageError(f"{name} is for --stream alone", "Add --stream.")


def _stream(
    run: "Run", target: str | None, port: str | None, split: str, limit: int | None, json: bool
) -> None:
    from snapcli.stages.stream import stream as stage

    with console.progress("stream") as on_progress:
        try:
            report = stage(run, target, split, limit, port, on_progress)
        except KeyboardInterrupt:
            raise InterruptedRunError(
                "the stream was interrupted; what was played is kept",
                "The same command goes on from there.",
            ) from None
    if json:
        console.print_json(report)
        return
    record = run.record(f"stream/{report.target}")
    assert record is not None
    measured.stream(report, [str(run.path(name)) for name in record["outputs"]])
