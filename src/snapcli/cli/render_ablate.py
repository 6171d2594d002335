"""What an ablation found, as one table."""

from typing import TYPE_CHECKING, Any

from snapcli import console
from snapcli.cli.render import figure
from snapcli.cli.render_eval import signed, within

if TYPE_CHECKING:
    from snapcli.results.ablate import AblateReport

_WITH_INTERVAL = ("pooled AUROC", "by S alone")
_GAINS = ("gain", "gain of S")
_FRAMES = "delay"


def table(report: "AblateReport") -> None:
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
            return within(cell)
        cell = cell.value
    if title == _FRAMES:
        return "-" if cell != cell else f"{cell:.0f}"
    return f"{cell:,}" if isinstance(cell, int) else figure(cell)
