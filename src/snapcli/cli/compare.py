"""snap compare"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.options import RUNS, AsJson, RunsDir
from snapcli.cli.render import plural
from snapcli.errors import CheckError

if TYPE_CHECKING:
    from snapcli.stages.compare import Broken, Change, CompareReport, Figure

EXAMPLES = (
    "snap compare digits-001 digits-002",
    "snap compare runs/main runs/mine --fail-if 'flash>+2%' --fail-if 'accuracy<-0.01'",
)


def compare(
    run_a: Annotated[Path, typer.Argument(help="The run to compare with.")],
    run_b: Annotated[Path, typer.Argument(help="The run that is judged.")],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GATE",
            help="Exit with 7 if FIGURE>+CHANGE or FIGURE<-CHANGE holds, for example flash>+2%.",
        ),
    ] = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Compare two runs, mark what got worse."""
    from snapcli.runs import open_run
    from snapcli.stages.compare import compare as stage

    report = stage(open_run(run_a, runs_dir), open_run(run_b, runs_dir), fail_if or ())
    console.print_json(report) if json else _render(report)
    if report.broken:
        said = "; ".join(f"{_broken(broken)} breaks {broken.gate}" for broken in report.broken)
        raise CheckError(
            said, f"Find out why, or take the gate off: {report.b} is judged by {report.a}."
        )


def _render(report: "CompareReport") -> None:
    rows = [
        (change.name, _value(change.a), _value(change.b), _difference(change), _verdict(change))
        for change in report.changes
    ]
    console.table(f"{report.a} and {report.b}", ("figure", report.a, report.b, "change", ""), rows)
    both = [c for c in report.changes if c.change is not None]
    worse = [c for c in both if c.verdict == "worse"]
    beyond = [c for c in worse if c.beyond is not False]
    console.say(
        f"{len(worse)} of {plural(len(both), 'figure')} got worse, "
        f"{len(beyond)} of them beyond their intervals or without any."
    )
    for note in report.notes:
        console.say(note)


def _value(figure: "Figure | None") -> str:
    if figure is None:
        return "-"
    said = _number(figure.value)
    if figure.low is None or figure.high is None:
        return said
    return f"{said} ({_number(figure.low)} to {_number(figure.high)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4f}"


def _difference(change: "Change") -> str:
    if change.change is None:
        return "-"
    said = f"{change.change:+,.0f}" if abs(change.change) >= 100 else f"{change.change:+.4g}"
    return said if change.percent is None else f"{said} ({change.percent:+.2f} %)"


def _verdict(change: "Change") -> str:
    if change.verdict in ("same", "missing"):
        return "" if change.verdict == "same" else "only in one"
    word = "WORSE" if change.verdict == "worse" else "better"
    if change.beyond is None:
        return word
    return f"{word}, beyond the intervals" if change.beyond else f"{word}, within the intervals"


def _broken(broken: "Broken") -> str:
    said = f"{broken.change:+,.6g}"
    return f"{broken.figure} {said}" + (
        "" if broken.percent is None else f" ({broken.percent:+.2f} %)"
    )
