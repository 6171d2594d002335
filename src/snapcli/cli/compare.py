"""snap compare"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, RunsDir
from snapcli.cli.render import plural
from snapcli.errors import CheckError

if TYPE_CHECKING:
    from snapcli.stages.compare import BrokenGate, Change, CompareReport, Figure

EXAMPLES = (
    "snap compare digits-001 digits-002",
    "snap compare runs/main runs/mine --fail-if 'flash>+2%' --fail-if 'accuracy<-0.01'",
)

_WORDS = {"worse": "WORSE", "better": "better"}
_WITHIN = "~"
_SMALLEST = 1e-4  # of a change that four decimals show


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
    from snapcli.stages.compare import compare as stage

    report = stage(opened(run_a, runs_dir), opened(run_b, runs_dir), fail_if or ())
    console.print_json(report) if json else _render(report)
    if report.broken:
        said = "; ".join(f"{_broken(broken)} breaks {broken.gate}" for broken in report.broken)
        raise CheckError(
            said, f"Find out why, or take the gate off: {report.b} is judged by {report.a}."
        )


def _render(report: "CompareReport") -> None:
    layouts = (_full(report), _short(report, with_percent=True), _short(report, with_percent=False))
    head, *rows = next((rows for rows in layouts if console.fits(rows)), layouts[-1])
    console.wide_table(f"{report.a} and {report.b}", head, rows)
    both = [c for c in report.changes if c.change is not None]
    worse = [c for c in both if c.verdict == "worse"]
    beyond = [c for c in worse if c.beyond is not False]
    console.say(
        f"{len(worse)} of {plural(len(both), 'figure')} got worse, "
        f"{len(beyond)} of them beyond their intervals or without any."
    )
    if any(row[-1].startswith(_WITHIN) for row in rows):
        console.say(f"{_WITHIN} within the intervals.")
    for note in report.notes:
        console.say(note)


def _full(report: "CompareReport") -> list[tuple[str, ...]]:
    """The heading and the rows, with intervals."""
    rows = [(c.name, _value(c.a), _value(c.b), _difference(c), _verdict(c)) for c in report.changes]
    return [("figure", report.a, report.b, "change", ""), *rows]


def _short(report: "CompareReport", with_percent: bool) -> list[tuple[str, ...]]:
    """For a narrow terminal: without intervals, and in short words."""
    rows = []
    for c in report.changes:
        a, b = ("-" if figure is None else _number(figure.value) for figure in (c.a, c.b))
        rows.append((c.name, a, b, _difference(c, with_percent), _word(c)))
    return [("figure", "first", "second", "change", ""), *rows]


def _value(figure: "Figure | None") -> str:
    if figure is None:
        return "-"
    said = _number(figure.value)
    if figure.low is None or figure.high is None:
        return said
    return f"{said} ({_number(figure.low)} to {_number(figure.high)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4f}"


def _difference(change: "Change", with_percent: bool = True) -> str:
    if change.change is None:
        return "-"
    said = _signed(change.change)
    return f"{said} ({_percent(change.percent)})" if with_percent and change.percent else said


def _signed(value: float) -> str:
    """At most 4 significant digits: more is not known, or told by the values themselves."""
    if not value:
        return "0"
    if abs(value) >= 100:
        return f"{float(f'{value:.4g}'):+,.0f}"
    if abs(value) >= 1 or value == int(value):
        return f"{value:+.4g}"
    return f"{value:+.4f}" if abs(value) >= _SMALLEST else f"{value:+.0e}"


def _percent(value: float) -> str:
    return f"{_signed(value)} %" if abs(value) >= 100 else f"{value:+.2f} %"


def _verdict(change: "Change") -> str:
    if change.beyond is None or change.verdict not in _WORDS:
        return _word(change)
    where = "beyond" if change.beyond else "within"
    return f"{_WORDS[change.verdict]}, {where} the intervals"


def _word(change: "Change") -> str:
    if change.verdict not in _WORDS:
        return "" if change.verdict == "same" else "alone"
    return f"{_WITHIN if change.beyond is False else ''}{_WORDS[change.verdict]}"


def _broken(broken: "BrokenGate") -> str:
    said = f"{broken.change:+,.6g}"
    return f"{broken.figure} {said}" + (
        "" if broken.percent is None else f" ({_percent(broken.percent)})"
    )
