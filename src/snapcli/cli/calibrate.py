"""snap calibrate"""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.cli.render import (
    answers,
    by_severity,
    controlled,
    detection,
    figure,
    foreign,
    heads,
    idle_heads,
    map,
    maps,
    per_tap,
    percent,
    promised,
    threshold,
)
from snapcli.config import CalibrateOptions, override
from snapcli.errors import UsageError

if TYPE_CHECKING:
    from snapcli.origin.origin import Origin
    from snapcli.results.calibrate import CalibrateReport
    from snapcli.stages.push import PushReport

EXAMPLES = (
    "snap calibrate",
    "snap calibrate --map gated --target 0.95",
    "snap calibrate --map gated-taps --third energy",
    "snap calibrate --map evidence --hidden 16",
    "snap calibrate --taps none --no-class-offsets",
    "snap calibrate --threshold risk --target 0.02",
    "snap calibrate --controller --budget 0.1",
    "snap calibrate --target 0.95 --push --port /dev/ttyACM0",
)


_PUSH = "Push to a board"


@takes(CalibrateOptions)
def calibrate(
    given: Given,
    push: Annotated[
        bool,
        typer.Option(
            "--push",
            rich_help_panel=_PUSH,
            help="Refit for int8 too, and replace the settings of a board over the link.",
        ),
    ] = False,
    port: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_PUSH, help="The board's serial port, if there are more than one."
        ),
    ] = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Turn surprise into a probability of error.

    An option that is not given is taken from the run's recipe; the defaults shown are those of a
    new run.
    """
    from snapcli.origin.origin import origin_of
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.calibrate import calibrate as stage
    from snapcli.stages.push import find_receiver
    from snapcli.stages.push import push as push_stage

    if given.get("target") == 0:
        raise UsageError(
            "--target is 0", "Leave it out for the rule's own, or give a share above 0."
        )
    chosen = opened(run, runs_dir, no_wait, allow_code)
    if "threshold" in given:
        # A recipe's target belongs to its own rule.
        given.setdefault("target", 0.0)
    options = override(run_recipe(chosen).calibrate, **given)
    if not options.controller and given.keys() & {"budget", "eta", "kappa"}:
        raise UsageError(
            "--budget, --eta and --kappa belong to the controller", "Add --controller."
        )
    if port and not push:
        raise UsageError("--port belongs to --push", "Add --push.")
    # A board that does not answer shall be known before anything changes.
    receiver = find_receiver(port) if push else None
    with console.progress("calibrate") as on_progress:
        report = stage(chosen, options, on_progress)
    origin = origin_of(chosen)
    if receiver is None:
        console.print_json(report) if json else show(report, origin)
        return
    with console.progress("push") as on_progress:
        pushed = push_stage(chosen, receiver, on_progress)
    if json:
        console.print_json({"calibrate": report, "push": pushed})
    else:
        show(report, origin)
        show_push(pushed)


def show(report: "CalibrateReport", origin: "Origin") -> None:
    numbers = "float" if origin.has_float else "int8"
    labelled = not math.isnan(report.test_accuracy)
    rows = [
        *idle_heads(report, origin.without_heads),
        ("accuracy", percent(report.test_accuracy)),
        *by_severity(report.accuracy_by_severity, labelled),
        ("temperature", figure(report.temperature)),
        *([("tap weights", per_tap(report.tap_weights))] if report.tap_weights else []),
        ("map", f"{map(report.map)}. {report.map_reason}"),
        ("heads", heads(report)),
        ("threshold", f"{threshold(report.threshold)} (by {report.threshold_rule})"),
        ("accepted of clean test", percent(report.coverage_clean_test)),
        *foreign(report.foreign),
        *controlled(report.controller),
    ]
    console.pairs(f"calibrate: {report.run}", rows)
    promised(report.promise, report.controller)
    maps(numbers, report.dev, report.map["kind"], labelled)
    detection(numbers, report.detection, labelled)
    answers(numbers, report.answers)


def show_push(report: "PushReport") -> None:
    if report.before == report.settings:
        console.say(f"{report.target} at {report.port} has had settings {report.settings} already.")
        return
    console.say(
        f"{report.target} at {report.port} now uses settings {report.settings} "
        f"(before: {report.before}); its image has not changed."
    )
