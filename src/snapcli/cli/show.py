"""snap show"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, RunsDir

if TYPE_CHECKING:
    from snapcli.runs import StageState
    from snapcli.stages.show import Figure

EXAMPLES = (
    "snap show",
    "snap show digits-002",
    "snap show runs/digits-001 --json",
)


def show(
    run: Annotated[Path | None, typer.Argument(help="Run directory; otherwise the latest.")] = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Show a run: its stages, figures, what is stale."""
    from snapcli.stages.show import show as stage

    report = stage(opened(run, runs_dir))
    if json:
        console.print_json(report)
        return
    if report.heads and report.heads.idle:
        console.say("HEADS IDLE: they cost, and neither U nor F is worse without them.")
        console.say(f"Run: {report.heads.remedy}")
    rows = [(s.stage, s.status, _why(s)) for s in report.states]
    console.table(f"{report.run} ({report.root})", ("stage", "status", "because"), rows)
    if report.figures:
        console.pairs("figures", [(f.name, _text(f)) for f in report.figures])
    if report.next_command:
        console.say(f"Next: {report.next_command}")


def _why(state: "StageState") -> str:
    """What the status does not say already."""
    return state.detail.partition(": ")[2]


def _text(figure: "Figure") -> str:
    if figure.value is None or figure.unit in ("auroc", "ratio"):
        return render.figure(figure.value)
    if figure.unit == "share":
        return render.percent(figure.value)
    if figure.unit == "number":
        return f"{figure.value:,.0f}" if figure.value else "none"
    if figure.unit == "bytes":
        return render.size(int(figure.value))
    return f"{figure.value:,.0f} {figure.unit}"
