"""Tables that are sorted by a click and copied as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass

from snapcli.metrics.bootstrap import Interval
from snapcli.report.markup import tag, text
from snapcli.report.numbers import DASH, bounds, decimal, is_known
from snapcli.report.outcome import outcome
from snapcli.results.ablate import AblateTable, Cell

HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class Column:
    """group: stands above neighbours that share it. better: HIGHER, LOWER, or "" where no value is
    better than another. is_gain: its intervals are of differences, coloured by their side of 0."""

    title: str
    better: str = ""
    group: str = ""
    digits: int = 3
    is_gain: bool = False


@dataclass(frozen=True)
class Row:
    """why: stands in place of the
    cells behind the first. look: a class of the style sheet for the first cell."""

    cells: Sequence[Cell]
    why: str = ""
    look: str = ""
    is_ours: bool = False


def table(title: str, columns: Sequence[Column], rows: Sequence[Row], name: str) -> str:
    """name: of the CSV file. Bold is the best value of a column, no more."""
    best = [_best(i, column, rows) for i, column in enumerate(columns)]
    head = [tag("tr", *_groups(columns))] if any(column.group for column in columns) else []
    head.append(tag("tr", *(_heading(column) for column in columns)))
    body = [_row(row, columns, best) for row in rows]
    copy = tag("button", "Copy as CSV", type="button", class_="copy", data_csv=name)
    caption = tag("div", tag("h4", text(title)), copy, class_="table-head")
    inside = tag("table", tag("thead", *head), tag("tbody", *body), class_="data")
    scroll = tag("div", inside, class_="scroll", tabindex="0")
    return tag("div", caption, scroll, class_="table")


def _groups(columns: Sequence[Column]) -> list[str]:
    cells: list[tuple[str, int]] = []
    for column in columns:
        if cells and cells[-1][0] == column.group:
            cells[-1] = (column.group, cells[-1][1] + 1)
        else:
            cells.append((column.group, 1))
    return [
        tag("th", text(group), colspan=span, scope="colgroup", class_="group" if group else None)
        for group, span in cells
    ]


def _heading(column: Column) -> str:
    arrow = {HIGHER: "\N{UPWARDS ARROW}", LOWER: "\N{DOWNWARDS ARROW}"}.get(column.better, "")
    hint = f"{column.better} is better" if arrow else None
    inside = text(column.title) + (tag("span", arrow, class_="better", title=hint) if arrow else "")
    button = tag("button", inside, type="button", class_="sort")
    return tag("th", button, scope="col", data_better=column.better or None)


def _best(index: int, column: Column, rows: Sequence[Row]) -> float | None:
    values = [_value(row.cells[index]) for row in rows if not row.why]
    numbers = [v for v in values if isinstance(v, int | float)]
    if not column.better or column.is_gain or len(set(numbers)) < 2:
        return None
    return max(numbers) if column.better == HIGHER else min(numbers)


def _row(row: Row, columns: Sequence[Column], best: Sequence[float | None]) -> str:
    first = tag("th", tag("span", text(row.cells[0]), class_=row.look or None), scope="row")
    look = "ours" if row.is_ours else None
    if row.why:
        why = tag("td", text(f"not run: {row.why}"), colspan=len(columns) - 1, class_="why")
        return tag("tr", first, why, class_="not-run")
    triples = list(zip(row.cells, columns, best, strict=True))[1:]
    return tag("tr", first, *(_cell(*triple) for triple in triples), class_=look)


def _value(cell: Cell) -> str | float | None:
    """None where there is none, or an undefined one."""
    value = cell.value if isinstance(cell, Interval) else cell
    return value if isinstance(value, str) or is_known(value) else None


def _cell(cell: Cell, column: Column, best: float | None) -> str:
    value = _value(cell)
    if value is None:
        return tag("td", DASH, class_="none")
    if isinstance(value, str):
        return tag("td", text(value))
    said = f"{value:,}" if isinstance(value, int) else decimal(value, column.digits)
    inside = tag("b", said) if value == best else said
    if not isinstance(cell, Interval) or (between := bounds(cell)) is None:
        return tag("td", inside, data_v=_exact(value))
    low, high = (decimal(edge, column.digits) for edge in between)
    # A dash before a minus sign cannot be read.
    between_words = "\N{THIN SPACE}to\N{THIN SPACE}" if between[0] < 0 else "\N{EN DASH}"
    inside += tag("small", f"{low}{between_words}{high}")
    look = outcome(cell) if column.is_gain else None
    ends = " ".join(map(_exact, between))
    return tag("td", inside, data_v=_exact(value), data_i=ends, class_=look)


def _exact(value: float) -> str:
    """For sorting and CSV: more digits than are shown."""
    return str(value) if isinstance(value, int) else f"{value:.5g}"


def ablation_table(ablation: AblateTable) -> str:
    columns = [Column(column.title, column.better) for column in ablation.columns]
    rows = [Row([row.get(column.title) for column in columns]) for row in ablation.rows]
    return table(ablation.title, columns, rows, ablation.title)
