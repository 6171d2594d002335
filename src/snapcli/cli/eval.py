"""snap eval"""

from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render_eval
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.cli.words import names

EXAMPLES = (
    "snap eval",
    "snap eval --methods snap,energy,mahalanobis-full --on int8",
    "snap eval --methods all --on float",
    "snap eval --on device",
)


def eval(
    methods: Annotated[
        str,
        typer.Option(
            help="single-pass, trained (variants of the backbone: long), all, or names with commas "
            "(snap methods lists them)."
        ),
    ] = "single-pass",
    on: Annotated[
        str,
        typer.Option(help="float, int8, device (a played stream), with commas; what the run has."),
    ] = "",
    limit: Annotated[
        int | None, typer.Option(help="Examples of each corruption and foreign set; calibrate's.")
    ] = None,
    replicates: Annotated[int | None, typer.Option(help="Draws of the bootstrap; 1000.")] = None,
    streams: Annotated[int | None, typer.Option(help="Test streams of 7,400 frames; 3.")] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Throw away the table that is there.")
    ] = False,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Compare every method of the paper, with intervals."""
    from snapcli.config import EvalOptions, override
    from snapcli.stages.eval import evaluate

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(
        EvalOptions(),
        methods=names(methods) or (),
        on=names(on) or (),
        limit=limit,
        replicates=replicates,
        streams=streams,
        anew=anew,
    )
    with console.progress("eval") as on_progress:
        report = evaluate(chosen, options, on_progress)
    console.print_json(report) if json else render_eval.table(report)
