"""Bars: where the instructions go, and how much of a part's memory is used."""

from collections.abc import Sequence
from dataclasses import dataclass

from snapcli.report.markup import label, svg, tag
from snapcli.report.numbers import kilobytes, percent
from snapcli.report.plot import WIDTH
from snapcli.report.scale import Scale
from snapcli.results.bench import BenchReport, MeasuredCost, StepCost
from snapcli.results.flash import FlashReport

_NAMES, _VALUES, _ROW = 150, 76, 24
_STEPS = 12
# Stages that are there without a monitor, too.
_OF_THE_MODEL = ("backbone", "classifier")


@dataclass(frozen=True)
class Bar:
    """look: a class of the style sheet; said: the figure behind the bar."""

    name: str
    value: float
    look: str
    said: str
    tip: str


def bars(title: str, rows: Sequence[Bar]) -> str:
    at = Scale(0, max((row.value for row in rows), default=1) or 1, _NAMES, WIDTH - _VALUES)
    parts = []
    for i, row in enumerate(rows):
        y = 4 + _ROW * i
        width = max(at(row.value) - _NAMES, 1.0)
        drawn = [
            label(_NAMES - 10, y + 15, _cut(row.name), "end", "name"),
            tag("rect", x=_NAMES, y=y + 3, width=width, height=_ROW - 8, rx=2, class_="bar"),
            label(_NAMES + width + 7, y + 15, row.said, "start", "value"),
        ]
        parts.append(tag("g", *drawn, class_=row.look, data_tip=row.tip))
    return svg(WIDTH, 8 + _ROW * len(rows), title, *parts)


def _cut(name: str) -> str:
    return name if len(name) <= 22 else f"{name[:21]}\N{HORIZONTAL ELLIPSIS}"


def by_stage(bench: BenchReport) -> str:
    return bars(f"Cost by stage on {bench.target}", [_cost(c, bench) for c in bench.stages])


def by_step(bench: BenchReport) -> str:
    """The most expensive ones."""
    steps = sorted(bench.steps, key=lambda step: -step.mean)[:_STEPS]
    return bars(f"Cost by layer on {bench.target}", [_cost(step, bench) for step in steps])


def _cost(cost: MeasuredCost, bench: BenchReport) -> Bar:
    stage = cost.stage if isinstance(cost, StepCost) else cost.name
    look = "part-backbone" if stage in _OF_THE_MODEL else "part-ours"
    tip = f"{cost.name}\n{cost.mean:,.0f} {bench.counter}, {percent(cost.share)}"
    if cost.per_mac is not None:
        tip += f"\n{cost.macs:,} MAC, {cost.per_mac:.2f} each"
    return Bar(cost.name, cost.mean, look, percent(cost.share), tip)


def memory(report: FlashReport | BenchReport) -> str:
    """Flash and RAM: without the monitor, with it, and the limit of the part."""
    parts = []
    size, alone = report.size, report.size_without_heads
    rows = (
        ("flash", size.flash_bytes, alone.flash_bytes, report.flash_limit_bytes),
        ("RAM", size.ram_bytes, alone.ram_bytes, report.ram_limit_bytes),
    )
    for i, (what, whole, bare, limit) in enumerate(rows):
        at = Scale(0, max(limit, whole), 52, WIDTH - 8)
        y = 4 + 52 * i
        said = f"{kilobytes(whole)}, {kilobytes(whole - bare)} of it the monitor's"
        said += f"; limit {kilobytes(limit)}" if limit else ""
        room = tag("rect", x=52, y=y, width=at.end - 52, height=18, rx=3, class_="room")
        base = tag("rect", x=52, y=y, width=at(bare) - 52, height=18, rx=3, class_="bar")
        ours = tag("rect", x=at(bare), y=y, width=max(at(whole) - at(bare), 1.5), height=18)
        parts.append(label(42, y + 13, what, "end", "name"))
        parts.append(room if limit else "")
        parts.append(tag("g", base, class_="part-backbone"))
        parts.append(tag("g", ours.replace("<rect", '<rect class="bar"'), class_="part-ours"))
        parts.append(label(52, y + 34, said, "start", "value"))
    return svg(WIDTH, 100, "Memory", *parts)
