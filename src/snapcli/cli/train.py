"""snap train"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.interrupt import resumable
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, DataDir, NoWait, RunPath, RunsDir
from snapcli.cli.words import names, whole_numbers
from snapcli.errors import UsageError

if TYPE_CHECKING:
    from snapcli.config import Recipe
    from snapcli.results.train import TrainReport

EXAMPLES = (
    "snap train",
    "snap train --dataset cifar10 --quick --data-dir ~/data",
    "snap train --dataset speechcmd --seeds 13,17,23",
    "snap train --dataset my_photos/ --image-size 32 --epochs 30",
    "snap train --backbone mypkg.nets:build --taps conv2:conv3",
    "snap train --head student-t --learn-nu --taps E,M,P --ranks 16,32,32",
    "snap train --mode posthoc --backbone model.keras --epochs 0 --taps conv2:conv3",
    "snap train --resume",
)
# Paper: the final 20 % of the epochs.
QAT_SHARE = 0.2


def train(
    dataset: Annotated[
        str | None,
        typer.Option(
            help="digits, mnist, cifar10, speechcmd, tinyimagenet; or your own: a folder of "
            "classes (images or .wav), or an .npz."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The data set's recipe for two cores.")
    ] = False,
    data_dir: DataDir = None,
    image_size: Annotated[
        int | None, typer.Option(help="Side that your own images are brought to; as they are.")
    ] = None,
    channels: Annotated[
        int | None, typer.Option(help="1 (grey) or 3 (colour) for your own images; as they are.")
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option("--strict", help="A broken file of yours is an error, not skipped."),
    ] = None,
    augment: Annotated[
        str | None, typer.Option(help="Variations of training data, with commas, or none.")
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(help="One of `snap models`, module:function or a .keras file; fits the data."),
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option("--allow-code", help="Run code inside of a .keras backbone that you trust."),
    ] = False,
    taps: Annotated[
        str | None,
        typer.Option(
            help="Letters (E, M, M1, M2, P), block names or pairs layer_a:layer_b, with commas."
        ),
    ] = None,
    ranks: Annotated[
        str | None, typer.Option(help="Of the projections: one for all taps or one for each.")
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(help="gaussian, student-t, huber, minimal, lowrank or mixture."),
    ] = None,
    nu: Annotated[float | None, typer.Option(help="student-t: degrees of freedom.")] = None,
    learn_nu: Annotated[
        bool | None, typer.Option("--learn-nu", help="student-t: one nu for all taps, learned.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="huber: where the loss becomes linear, in deviations.")
    ] = None,
    factors: Annotated[
        int | None, typer.Option(help="lowrank: columns that correlate the channels, e.g. 4 or 8.")
    ] = None,
    components: Annotated[int | None, typer.Option(help="mixture: Gaussians per tap.")] = None,
    class_mean: Annotated[
        bool | None,
        typer.Option("--class-mean", help="The mean depends on the predicted class, too."),
    ] = None,
    statistics: Annotated[
        str | None, typer.Option(help="What is predicted of channels: mean or mean-deviation.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="joint: heads shape the backbone; detach: they do not; posthoc: after."),
    ] = None,
    detach_from: Annotated[
        int | None, typer.Option(help="joint: goes on as detach from this epoch.")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Passes over the training data; 0: the .keras backbone as it is."),
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Examples per step.")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam, adamw or sgd.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="At its highest.")] = None,
    lambda_ss: Annotated[float | None, typer.Option(help="Weight of the heads' loss.")] = None,
    ramp: Annotated[int | None, typer.Option(help="Epochs over which it rises to that.")] = None,
    adaptive: Annotated[
        bool | None,
        typer.Option("--adaptive", help="lambda_ss follows the gradients of both losses."),
    ] = None,
    loss_weights: Annotated[
        str | None, typer.Option(help="Of the taps in the loss: uniform or inverse-variance.")
    ] = None,
    ema: Annotated[
        float | None, typer.Option(help="Decay of the average of weights that is kept, e.g. 0.999.")
    ] = None,
    qat: Annotated[
        bool, typer.Option("--qat", help="Simulate int8 in the last 20 % of the epochs.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of everything random.")] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Several seeds with commas: a run for each.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")
    ] = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Train a backbone with its SNAP heads, into a new run."""
    from snapcli.usercode import allow_code as allow

    allow(allow_code)
    if taps is not None and not names(taps):
        raise UsageError("no tap given", "Use for example --taps M,P.")
    given = {
        "dataset": dataset,
        "data_dir": str(data_dir) if data_dir else None,
        "image_size": image_size,
        "channels": channels,
        "strict": strict,
        "augment": names(augment),
        "backbone": backbone,
        "taps": names(taps),
        "ranks": whole_numbers("--ranks", ranks, "32,64"),
        "head": head,
        "nu": nu,
        "learn_nu": learn_nu,
        "delta": delta,
        "factors": factors,
        "components": components,
        "class_mean": class_mean,
        "statistics": statistics,
        "mode": mode,
        "detach_from": detach_from,
        "epochs": epochs,
        "batch_size": batch_size,
        "optimizer": optimizer,
        "learning_rate": learning_rate,
        "lambda_ss": lambda_ss,
        "ramp": ramp,
        "adaptive": adaptive,
        "loss_weights": loss_weights,
        "ema": ema,
        "qat": QAT_SHARE if qat else None,
        "seed": seed,
    }
    if resume:
        asked = {**given, "quick": quick or None, "seeds": seeds}
        report = _resumed(asked, run, runs_dir, no_wait, allow_code)
        console.print_json(report) if json else render.train(report)
        return
    if run is not None:
        raise UsageError("train always starts a new run", "Leave --run out, or add --resume.")
    if seeds is None:
        report = _trained(_recipe(given, quick), runs_dir)
        console.print_json(report) if json else render.train(report)
        return
    if seed is not None:
        raise UsageError("--seed and --seeds exclude each other", "Give one of them.")
    recipes = [
        _recipe({**given, "seed": s}, quick)
        for s in dict.fromkeys(whole_numbers("--seeds", seeds, "13,17,23") or ())
    ]
    reports = [_trained(recipe, runs_dir) for recipe in recipes]
    console.print_json(reports) if json else render.trained_seeds(reports)


def _recipe(given: dict[str, Any], quick: bool) -> "Recipe":
    from dataclasses import replace

    from snapcli.config import Recipe, override
    from snapcli.data.loading import is_own
    from snapcli.origin.recipe import recipe_for

    name = given["dataset"] or Recipe().train.dataset
    if is_own(name):
        # Later commands find it from wherever they are typed.
        given = {**given, "dataset": str(Path(name).expanduser().resolve())}
    if given["backbone"] and Path(given["backbone"]).suffix in (".keras", ".h5"):
        given = {**given, "backbone": str(Path(given["backbone"]).expanduser().resolve())}
    recipe = recipe_for(name, quick)
    return replace(recipe, train=override(recipe.train, **given))


def _trained(recipe: "Recipe", runs_dir: Path) -> "TrainReport":
    from snapcli.origin.recipe import run_prefix
    from snapcli.runs import new_run
    from snapcli.stages.train import check_options
    from snapcli.stages.train import train as stage

    with console.progress("train"):
        check_options(recipe.train)
    place = new_run(runs_dir, run_prefix(recipe.train.dataset))
    with place as run, resumable(run), console.progress("train") as on_progress:
        return stage(run, recipe, on_progress=on_progress)


def _resumed(
    asked: dict[str, Any], name: Path | None, runs_dir: Path, no_wait: bool, allow_code: bool
) -> "TrainReport":
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.train import train as stage

    extra = [name for name, value in asked.items() if value is not None]
    if extra:
        raise UsageError(
            f"--resume keeps the options of the run; {extra[0].replace('_', '-')} was given",
            "Leave it out, or start a new run without --resume.",
        )
    run = opened(name, runs_dir, no_wait, allow_code)
    with resumable(run), console.progress("train") as on_progress:
        return stage(run, run_recipe(run), resume=True, on_progress=on_progress)
