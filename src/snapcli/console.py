"""The only importer of rich: progress, tables and errors.

Results go to stdout, progress and errors to stderr. There is no progress bar when stderr is
not a terminal; NO_COLOR is honoured by rich.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from snapcli.errors import SnapError
from snapcli.jsontext import dumps
from snapcli.progress import OnProgress, silent

_FILE_WIDTH = 160
_TREE_WIDTH = 1000
_BORDER = 3  # columns of a line and the blanks beside it
_STACKED = 3

Line = Sequence[tuple[str, str]]
"""Pieces of text, each with its style."""

# Consoles with a bar on them, which only they can keep below their lines.
_bars: list[Console] = []


def _out() -> Console:
    """A file or pipe has no width of its own: it gets one that no table of ours outgrows."""
    width = None if sys.stdout.isatty() else _FILE_WIDTH
    return Console(highlight=False, soft_wrap=True, width=width)


def _err() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """A line of the result."""
    _out().print(_plain(text), markup=False)


def note(text: str) -> None:
    """A line about what is going on; not part of the result. It stands above a bar."""
    (_bars[-1] if _bars else _err()).print(_plain(text), style="dim", markup=False)


def print_json(value: Any) -> None:
    # Flushed here, where a full disk can still be told; at exit it could not.
    print(dumps(value), flush=True)


def print_error(error: SnapError) -> None:
    """Two lines: what is wrong, what to do."""
    err = _err()
    err.print(f"[bold red]error:[/] {escape(_headline(error.message))}")
    if error.hint:
        err.print(f"[bold]hint:[/] {escape(_one_line(error.hint))}")


def _headline(text: str) -> str:
    """What follows `error:` is part of a line: no capital, no full stop."""
    text = _one_line(text).rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _one_line(text: str) -> str:
    return _plain(" ".join(text.split()))


def _plain(text: str) -> str:
    """Without what a terminal would obey: names may come from anybody's files."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of text under their names."""
    view = Table(*map(escape, columns), box=box.ROUNDED, header_style="dim")
    _print_table(title, view, rows)


def wide_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Many columns: where they are too wide, two neighbours or three share one, the second under
    the first, so that nothing is cut off."""
    for height in range(1, _STACKED + 1):
        head, *body = (_stacked(row, height) for row in (columns, *rows))
        if fits([head, *body]):
            break
    view = Table(*map(escape, head), box=box.ROUNDED, header_style="dim", show_lines=height > 1)
    _print_table(title, view, body, whole=height == 1)


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table of these, the first its heading, is no wider than the output."""
    return _table_width(rows) <= width()


def _stacked(cells: Sequence[str], height: int) -> list[str]:
    # The last cell is as high as the others: a name above it would stand at its bottom.
    filled = [*cells, *[""] * (-len(cells) % height)]
    return ["\n".join(filled[i : i + height]) for i in range(0, len(filled), height)]


def _table_width(rows: Sequence[Sequence[str]]) -> int:
    widest = (
        max(len(line) for cell in column for line in cell.split("\n"))
        for column in zip(*rows, strict=True)
    )
    return sum(width + _BORDER for width in widest) + 1


def pairs(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Names and their values."""
    view = Table("", "", box=box.ROUNDED, show_header=False)
    _print_table(title, view, rows)


def _print_table(
    title: str, view: Table, rows: Sequence[Sequence[str]], whole: bool = True
) -> None:
    """whole: no line of the first column is broken."""
    view.columns[0].no_wrap = whole
    for column in view.columns[1:]:
        # A path that is cut off is not a path.
        column.overflow = "fold"
    for row in rows:
        view.add_row(*(Text(_plain(cell)) for cell in row))
    out = _out()
    # The title stands outside of the table, which would break it to its own width.
    out.print(_plain(title), style="bold", markup=False)
    out.print(view)


def tree(title: str, branches: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Branches under the title, each with its leaves."""
    root = Tree(Text(_plain(title), style="bold"), guide_style="dim")
    for name, leaves in branches:
        branch = root.add(Text(_plain(name)))
        for leaf in leaves:
            branch.add(Text(_plain(leaf)))
    # As wide as it is: a narrow terminal breaks lines, but loses nothing.
    Console(highlight=False, width=_TREE_WIDTH).print(root)


def width() -> int:
    """Columns of the output."""
    return _out().width


@contextmanager
def progress(title: str) -> Iterator[OnProgress]:
    """Gives a function (done, total, detail); a spinner turns until its first call."""
    err = _err()
    if not err.is_terminal:
        yield silent
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[eta]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    with Progress(*columns, console=err, transient=True) as bar, _drawn_on(err):
        task = bar.add_task(title, total=None, count="", detail="", eta="")

        def advance(done: int, total: int, detail: str) -> None:
            count = f"{done}/{total}"
            bar.update(task, completed=done, total=total, count=count, detail=detail, eta="eta")

        yield advance


@contextmanager
def _drawn_on(err: Console) -> Iterator[None]:
    _bars.append(err)
    try:
        yield
    finally:
        _bars.pop()


@contextmanager
def live() -> Iterator[Callable[[Sequence[Line]], None] | None]:
    """Gives a function that replaces the lines it drew before; None where no terminal is."""
    out = _out()
    if not out.is_terminal:
        yield None
        return
    with Live(console=out, auto_refresh=False, vertical_overflow="crop") as view:

        def draw(lines: Sequence[Line]) -> None:
            text = Text("\n").join(Text.assemble(*line) for line in lines)
            text.no_wrap = True
            view.update(text, refresh=True)

        yield draw
