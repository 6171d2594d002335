"""snap train"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.interrupt import resumable
from snapcli.cli.options import RUNS, AsJson, RunPath, RunsDir
from snapcli.config import Recipe, override

if TYPE_CHECKING:
    from snapcli.runs import Run

EXAMPLES = (
    "snap train",
    "snap train --dataset digits --seed 17 --mode posthoc",
    "snap train --resume",
)


def train(
    dataset: Annotated[str | None, typer.Option(help="Data set: digits.")] = None,
    backbone: Annotated[str | None, typer.Option(help="Backbone: dscnn-digits.")] = None,
    taps: Annotated[
        str | None, typer.Option(help="Taps by letter (M, P) or block name, with commas.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="joint: heads shape the backbone; detach: they do not; posthoc: after."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training data.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Images per step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of the first step.")] = None,
    lambda_ss: Annotated[float | None, typer.Option(help="Weight of the heads' loss.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")
    ] = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Train a backbone with its SNAP heads, into a new run."""
    from snapcli.errors import UsageError
    from snapcli.runs import new_run, open_run
    from snapcli.stages.recipe import run_recipe
    from snapcli.stages.train import check_options
    from snapcli.stages.train import train as stage

    given = {
        "dataset": dataset,
        "backbone": backbone,
        "taps": None if taps is None else tuple(t.strip() for t in taps.split(",") if t.strip()),
        "mode": mode,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "lambda_ss": lambda_ss,
        "seed": seed,
    }
    if resume:
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise UsageError(
                f"--resume keeps the options of the run; {extra[0].replace('_', '-')} was given",
                "Leave it out, or start a new run without --resume.",
            )
        interrupted = open_run(run, runs_dir)
        recipe = run_recipe(interrupted)
        place: AbstractContextManager[Run] = nullcontext(interrupted)
    elif run is not None:
        raise UsageError("train always starts a new run", "Leave --run out, or add --resume.")
    else:
        recipe = Recipe(train=override(Recipe().train, **given))
        with console.progress("train"):
            check_options(recipe.train)
        place = new_run(runs_dir, recipe.train.dataset)
    with place as chosen, resumable(chosen), console.progress("train") as on_progress:
        report = stage(chosen, recipe, resume, on_progress)
    console.print_json(report) if json else render.train(report)
