"""What `snap ablate` reports: ablate/<kind>/<kind>.json, a table and all that it was made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snapcli.metrics.bootstrap import Interval
from snapcli.pricing.programs import Price
from snapcli.results.eval import MethodFigures
from snapcli.stored import conform, read_as, reading

# Of a table: words, a number, a figure with its interval, or nothing.
Cell = str | float | Interval | None
SCHEMA = 2
_HIGHER, _LOWER = "higher", "lower"
# Where S itself differs from row to row; elsewhere only what is made of it does.
HEADS_VARY = ("taps", "rank", "head", "quant", "mode")
GAIN = "errors.pooled.auroc"


@dataclass(frozen=True)
class Column:
    """better: higher, lower, or "" where no value is better than another."""

    title: str
    better: str = ""


@dataclass(frozen=True)
class AblationFigures:
    """One configuration. taps: {tensor after the block: rank}; map: what U is made by. gains: on
    the reference, by figure; surprise, surprise_gain: pooled AUROC of errors by S itself. price:
    of the whole program; without arena, stack and instructions where its flash was computed."""

    name: str
    taps: dict[str, int]
    map: str
    figures: MethodFigures
    surprise: Interval | None = None
    surprise_gain: Interval | None = None
    flash_bytes: int | None = None
    price: Price | None = None

    @property
    def gain(self) -> Interval | None:
        return self.figures.gains.get(GAIN)


@dataclass(frozen=True)
class AblateTable:
    """Of an AblateReport, what a page shows. rows: {title: Cell}."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class AblateReport:
    """columns and rows {title: cell} are the table, cells words, numbers, intervals or None;
    judged: the same and more for machines. All is computed by the integer reference. reference:
    the row that gains are counted from, starred: what it is, note: where it differs from the
    run."""

    schema: int
    run: str
    kind: str
    title: str
    reference: str
    starred: str
    note: str
    target: str
    kernels: str
    limit: int
    replicates: int
    streams: int
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Any], ...]
    judged: tuple[AblationFigures, ...]


def table(
    kind: str, judged: Sequence[AblationFigures]
) -> tuple[tuple[Column, ...], tuple[dict[str, Any], ...]]:
    """(columns, rows)."""
    cells = [_cells(kind, row) for row in judged]
    columns = tuple(cells[0])
    return columns, tuple({c.title: row[c] for c in columns} for row in cells)


def _cells(kind: str, row: AblationFigures) -> Mapping[Column, Any]:
    errors, events = row.figures.errors, row.figures.events
    assert errors is not None
    price = row.price
    cells: dict[Column, Any] = {Column("configuration"): row.name}
    if kind == "mode":
        cells[Column("accuracy", _HIGHER)] = row.figures.accuracy
    cells |= {
        Column("pooled AUROC", _HIGHER): errors.pooled.auroc,
        Column("per cell", _HIGHER): errors.per_cell.auroc,
        Column("clean", _HIGHER): errors.clean.auroc,
        Column("event AUPRC", _HIGHER): events.auprc if events else None,
    }
    if kind not in HEADS_VARY:
        cells[Column("delay", _LOWER)] = events.delay if events else None
        cells[Column("risk at 90 %", _LOWER)] = row.figures.selective["all"].risk_90
    for name, ood in row.figures.ood.items():
        cells[Column(f"OOD {name}", _HIGHER)] = ood.auroc
    cells[Column("gain", _HIGHER)] = row.gain
    if kind in HEADS_VARY:
        cells[Column("by S alone", _HIGHER)] = row.surprise
        cells[Column("gain of S", _HIGHER)] = row.surprise_gain
    return cells | {
        Column("flash, B", _LOWER): row.flash_bytes,
        Column("RAM, B", _LOWER): price.ram_bytes if price else None,
        Column("instructions", _LOWER): price.instructions if price else None,
    }


def ablate_table(path: Path) -> AblateTable:
    """path: <kind>.json of a run."""
    table = read_as(path, AblateTable)
    with reading(path):
        rows = tuple({title: _stored_cell(cell) for title, cell in r.items()} for r in table.rows)
        return replace(table, rows=rows)


def _stored_cell(cell: Any) -> Any:
    return conform(Interval, cell) if isinstance(cell, dict) else cell
