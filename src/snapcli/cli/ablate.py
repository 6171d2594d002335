"""snap ablate"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from snapcli import console
from snapcli.cli.flags import Given, about, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.opening import opened
from snapcli.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    CmsisNn,
    NoWait,
    RunPath,
    RunsDir,
)
from snapcli.cli.render import figure, ranged, signed
from snapcli.config import AblateOptions, override

if TYPE_CHECKING:
    from snapcli.results.ablate import AblateReport

EXAMPLES = (
    "snap ablate taps",
    "snap ablate rank --target small-mcu",
    "snap ablate map --run digits-001 --json",
    "snap ablate mode",
)
_WITH_INTERVAL = ("pooled AUROC", "by S alone")
_GAINS = ("gain", "gain of S")
_FRAMES = "delay"


@takes(AblateOptions)
def ablate(
    kind: Annotated[str, typer.Argument(help=about(AblateOptions, "kind"), show_default=False)],
    given: Given,
    cmsis_nn: CmsisNn = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Vary one thing of a run: what it gives, with intervals, and what it costs.

    Minutes; mode trains the backbone twice more, each time as long as the run's training took, and
    goes on where it was interrupted.
    """
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.ablate import ablate as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    export = run_recipe(chosen).export_c
    options = override(
        AblateOptions(target=export.target, kernels=export.kernels),
        kind=kind,
        **given,
    )
    announce_fetch(options.kernels, cmsis_nn)
    with console.progress("ablate") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else show(report)


def show(report: "AblateReport") -> None:
    titles = [column.title for column in report.columns]
    rows = [
        [_said(title, row[title], row["configuration"] == report.reference) for title in titles]
        for row in report.rows
    ]
    console.wide_table(report.title, titles, rows)
    console.say(
        f"*: {report.starred}; gains are paired differences to it, in pooled AUROC of errors. In "
        f"brackets: 95 % of {report.replicates:,} bootstrap draws.\nScores are those of the int8 "
        f"reference. The program of a row was compiled for {report.target} with the kernels "
        f"{report.kernels}; -: there is none."
    )
    if report.note:
        console.say(report.note)
    if report.kind == "quant":
        console.say("Flash of heads in float is computed, not compiled: bytes per weight.")


def _said(title: str, cell: Any, is_reference: bool) -> str:
    from snapcli.metrics.bootstrap import Interval  # and numpy, which no help needs

    if cell is None:
        return "-"
    if isinstance(cell, str):
        return f"{cell} *" if is_reference else cell
    if isinstance(cell, Interval):
        if title in _GAINS:
            return signed(cell)
        if title in _WITH_INTERVAL:
            return ranged(cell)
        cell = cell.value
    if title == _FRAMES:
        return "-" if cell != cell else f"{cell:.0f}"
    return f"{cell:,}" if isinstance(cell, int) else figure(cell)
