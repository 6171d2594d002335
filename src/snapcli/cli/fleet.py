"""snap fleet"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.options import AsJson
from snapcli.cli.render import percent, plural

if TYPE_CHECKING:
    from snapcli.results.fleet import FleetReport, Row, Table

EXAMPLES = (
    "snap fleet collected/",
    "snap fleet monday.snpt tuesday.snpt --out week.html",
)
_ROWS = 10


def fleet(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files of telemetry records, or folders with *.snpt files."),
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("fleet.html"),
    json: AsJson = False,
) -> None:
    """Merge what many devices recorded: which devices, builds and days drift."""
    from snapcli.stages.fleet import fleet as stage

    with console.progress("fleet") as on_progress:
        report = stage(paths, out, on_progress)
    _notes(report)
    console.print_json(report) if json else show(report)


def _notes(report: "FleetReport") -> None:
    """What was not counted, or is not there."""
    told = {
        "came twice and counted once": report.duplicates,
        "damaged, and skipped": report.damaged,
        "of another version, and skipped: a newer snap may read them": report.other_versions,
        "skipped, because their counts contradict each other": report.impossible,
        "missing, as the sequence numbers of their devices tell": report.missing,
    }
    for words, count in told.items():
        if count:
            console.note(f"note: {plural(count, 'record')} {words}")
    if report.skipped_bytes:
        console.note(f"note: {plural(report.skipped_bytes, 'byte')} in no whole record")


def show(report: "FleetReport") -> None:
    from snapcli.report.fleet_page import lead

    total = report.total
    days = f"{report.first} to {report.last}" if report.first else "no clock"
    alarm = f"{total.alarms_per_10000:.2f} per 10,000 frames, on in {percent(total.alarm_share)}"
    rows = [
        ("records", f"{total.records:,} of {plural(total.devices, 'device')}, {days}"),
        ("frames", f"{total.frames:,}"),
        ("estimated accuracy", f"{percent(total.accuracy)}, as U claims"),
        ("abstained, foreign", f"{percent(total.abstained)}, {percent(total.foreign)}"),
        ("alarms", alarm if total.alarms_per_10000 >= 0 else "none kept"),
    ]
    console.pairs("fleet", rows)
    many = report.builds.count > 1
    _table("Devices", "device", report.devices, many)
    _table("Days", "day", report.days, many)
    if many:
        _table("Builds", "build", report.builds, False)
    console.say(lead(report))
    console.say(f"Look at {report.page}")


def _table(title: str, what: str, table: "Table", with_build: bool) -> None:
    shown = table.rows[:_ROWS]
    head = (what, "frames", "est. acc.", "alarms", "PSI", "drifts")
    rows = [_row(row, with_build) for row in shown]
    rest = table.count - len(shown)
    said = f"{title}, the worst {len(shown)} of {table.count:,}" if rest else title
    console.wide_table(said, (*head, "build") if with_build else head, rows)


def _row(row: "Row", with_build: bool) -> tuple[str, ...]:
    """PSI: the larger of the two."""
    figures, alarms, psi = row.figures, row.figures.alarms_per_10000, max(row.drift.psi)
    cells = (
        *(row.name, f"{figures.frames:,}", percent(figures.accuracy)),
        *(f"{value:.2f}" if value >= 0 else "-" for value in (alarms, psi)),
        _word(row),
    )
    return (*cells, row.build) if with_build else cells


def _word(row: "Row") -> str:
    drift = row.drift
    if not drift.found:
        return "no" if min(drift.limit) >= 0 else "-"
    if drift.since is None:
        return "yes"
    return f"{drift.since} to {drift.until[5:]}" if drift.until else f"since {drift.since}"
