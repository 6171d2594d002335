"""snap train"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import Given, takes, whole_numbers
from snapcli.cli.interrupt import resumable
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, NoWait, RunPath, RunsDir
from snapcli.cli.render import figure, notes, per_tap, percent, plural
from snapcli.config import Recipe, TrainOptions, override
from snapcli.errors import UsageError

if TYPE_CHECKING:
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


@takes(TrainOptions)
def train(
    given: Given,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", rich_help_panel="Data", help="The data set's recipe for two cores."
        ),
    ] = False,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            rich_help_panel="Network",
            help="Run code inside of a .keras backbone that you trust.",
        ),
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Training", help="Several seeds, separated by commas: a run for each."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Train a backbone with its SNAP heads, into a new run."""
    from snapcli.usercode import allow_code as allow

    allow(allow_code)
    if given.get("taps") == ():
        raise UsageError("no tap given", "Use for example --taps M,P.")
    if resume:
        asked = [*given, *["quick"] * quick, *["seeds"] * (seeds is not None)]
        report = _resumed(asked, run, runs_dir, no_wait, allow_code)
        console.print_json(report) if json else show(report)
        return
    if run is not None:
        raise UsageError("train always starts a new run", "Leave --run out, or add --resume.")
    if seeds is None:
        report = _trained(_recipe(given, quick), runs_dir)
        console.print_json(report) if json else show(report)
        return
    if "seed" in given:
        raise UsageError("--seed and --seeds exclude each other", "Give one of them.")
    recipes = [
        _recipe({**given, "seed": s}, quick)
        for s in dict.fromkeys(whole_numbers("--seeds", seeds, "13,17,23"))
    ]
    reports = [_trained(recipe, runs_dir) for recipe in recipes]
    console.print_json(reports) if json else show_seeds(reports)


def _recipe(given: Given, quick: bool) -> Recipe:
    from dataclasses import replace

    from snapcli.data.loading import is_own
    from snapcli.origin.recipe import recipe_for

    name = given.get("dataset") or TrainOptions.dataset
    if is_own(name):
        # Later commands find it from wherever they are typed.
        given = {**given, "dataset": str(Path(name).expanduser().resolve())}
    backbone = Path(given.get("backbone", ""))
    if backbone.suffix in (".keras", ".h5"):
        given = {**given, "backbone": str(backbone.expanduser().resolve())}
    recipe = recipe_for(name, quick)
    return replace(recipe, train=override(recipe.train, **given))


def _trained(recipe: Recipe, runs_dir: Path) -> "TrainReport":
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
    asked: list[str], name: Path | None, runs_dir: Path, no_wait: bool, allow_code: bool
) -> "TrainReport":
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.train import train as stage

    if asked:
        raise UsageError(
            f"--resume keeps the options of the run; {asked[0].replace('_', '-')} was given",
            "Leave it out, or start a new run without --resume.",
        )
    run = opened(name, runs_dir, no_wait, allow_code)
    with resumable(run), console.progress("train") as on_progress:
        return stage(run, run_recipe(run), resume=True, on_progress=on_progress)


def show(report: "TrainReport") -> None:
    notes(report.notes)
    time = (
        f"{report.time.seconds:,.0f} s for {plural(report.epochs, 'epoch')}, "
        f"{percent(report.time.waited_share)} of it waiting for inputs"
    )
    if report.time.heads_s:
        time += f"; {report.time.heads_s:,.0f} s for the heads"
    rows = [
        ("data, backbone, seed", f"{report.dataset}, {report.backbone}, {report.seed}"),
        ("accuracy, clean dev", percent(report.dev_accuracy)),
        ("accuracy, clean test", percent(report.test_accuracy)),
    ]
    if report.lambda_ss:
        rows.append(("lambda_ss, last epoch", f"{report.lambda_ss:.3g}"))
    if report.nu is not None:
        rows.append(("nu", f"{report.nu:.2f}"))
    console.pairs(f"train: {report.run}", [*rows, ("time", time)])
    taps = [
        (
            tap,
            figure(report.mean_surprisal[tap]),
            figure(report.expected_surprisal[tap]),
            report.verdict[tap],
            figure(report.doubt_correlation[tap]),
        )
        for tap in report.mean_surprisal
    ]
    columns = ("tap", "E[e]", "expected", "verdict", "corr(e, 1 - max p)")
    console.table("heads on clean dev data", columns, taps)


def show_seeds(reports: "Sequence[TrainReport]") -> None:
    """A line per seed, and their mean."""
    notes(reports[0].notes)
    dev = sum(r.dev_accuracy for r in reports) / len(reports)
    test = sum(r.test_accuracy for r in reports) / len(reports)
    console.table(
        f"train: {reports[0].dataset}, {reports[0].backbone}",
        ("run", "seed", "clean dev", "clean test", "E[e]", "corr(e, 1 - max p)"),
        [
            *(
                (
                    r.run,
                    str(r.seed),
                    percent(r.dev_accuracy),
                    percent(r.test_accuracy),
                    per_tap(r.mean_surprisal),
                    per_tap(r.doubt_correlation),
                )
                for r in reports
            ),
            ("mean", "", percent(dev), percent(test), "", ""),
        ],
    )
