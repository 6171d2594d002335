"""snap calibrate"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.config import override
from snapcli.errors import UsageError

EXAMPLES = (
    "snap calibrate",
    "snap calibrate --map gated --target 0.95",
    "snap calibrate --map gated-taps --third energy",
    "snap calibrate --threshold risk --target 0.02",
    "snap calibrate --controller --budget 0.1",
    "snap calibrate --target 0.95 --push --port /dev/ttyACM0",
)


def calibrate(
    map: Annotated[
        str | None,
        typer.Option(
            help="auto (best on dev), temperature, gated, gated-taps, logistic, logistic-s, "
            "isotonic or percentile."
        ),
    ] = None,
    third: Annotated[
        str | None,
        typer.Option(
            help="Another input of the gated maps: none, energy or mahalanobis (the distance of "
            "the method mahalanobis-full)."
        ),
    ] = None,
    balanced: Annotated[
        bool | None,
        typer.Option(
            "--balanced/--no-balanced",
            help="Fit slopes as if errors were as frequent as hits.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Tap weights: uniform or inverse-variance.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Share of max-probability, against margin, in m.")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            help="Rule of the threshold: coverage, budget, f1, youden; risk or false-alarm, "
            "with a promise."
        ),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            help="Share to accept (coverage), to refuse (budget), of errors among the accepted "
            "(risk), of refused among the correct (false-alarm)."
        ),
    ] = None,
    controller: Annotated[
        bool | None,
        typer.Option("--controller/--static", help="Let the threshold follow a budget, or not."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Controller: share of a stream that abstains.")
    ] = None,
    eta: Annotated[
        float | None, typer.Option(help="Controller: weight of the newest decision in the rate.")
    ] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Controller: how far the rate moves the threshold.")
    ] = None,
    push: Annotated[
        bool,
        typer.Option(
            "--push",
            help="Refit for int8 too, and replace the settings of a board over the link.",
        ),
    ] = False,
    port: Annotated[
        str | None, typer.Option(help="With --push: the board's serial port, if there are more.")
    ] = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Turn surprise into a probability of error."""
    from snapcli.origin.origin import origin_of
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.calibrate import calibrate as stage
    from snapcli.stages.push import find_receiver
    from snapcli.stages.push import push as push_stage

    if target == 0:
        raise UsageError(
            "--target is 0", "Leave it out for the rule's own, or give a share above 0."
        )
    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(
        run_recipe(chosen).calibrate,
        map=map,
        third=third,
        balanced=balanced,
        weights=weights,
        alpha=alpha,
        threshold=threshold,
        # A recipe's target belongs to its own rule.
        target=0.0 if threshold and target is None else target,
        controller=controller,
        budget=budget,
        eta=eta,
        kappa=kappa,
    )
    if not options.controller and any(value is not None for value in (budget, eta, kappa)):
        raise UsageError("--budget, --eta and --kappa belong to the controller", "Add --controller")
    if port and not push:
        raise UsageError("--port belongs to --push", "Add --push")
    # A board that does not answer shall be known before anything changes.
    receiver = find_receiver(port) if push else None
    with console.progress("calibrate") as on_progress:
        report = stage(chosen, options, on_progress)
    numbers = "float" if origin_of(chosen).has_float else "int8"
    if receiver is None:
        console.print_json(report) if json else render.calibrate(report, numbers)
        return
    with console.progress("push") as on_progress:
        pushed = push_stage(chosen, receiver, on_progress)
    if json:
        console.print_json({"calibrate": report, "push": pushed})
    else:
        render.calibrate(report, numbers)
        render.push(pushed)
