"""Bars: where the instructions go, and how much of a part's memory is used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapcli.report.markup import label, svg, tag
from snapcli.report.numbers import kilobytes, percent
from snapcli.report.plot import WIDTH
from snapcli.report.scale import Scale

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


def by_stage(bench: Mapping[str, Any]) -> str:
    return bars(f"Cost by stage on {bench['target']}", [_cost(c, bench) for c in bench["stages"]])


def by_step(bench: Mapping[str, Any]) -> str:
    """The most expensive ones."""
    steps = sorted(bench["steps"], key=lambda step: -step["mean"])[:_STEPS]
    return bars(f"Cost by layer on {bench['target']}", [_cost(step, bench) for step in steps])


def _cost(cost: Mapping[str, Any], bench: Mapping[str, Any]) -> Bar:
    stage = cost.get("stage", cost["name"])
    look = "part-backbone" if stage in _OF_THE_MODEL else "part-ours"
    tip = f"{cost['name']}\n{cost['mean']:,.0f} {bench['counter']}, {percent(cost['share'])}"
    if cost["macs"]:
        tip += f"\n{cost['macs']:,} MAC, {cost['mean'] / cost['macs']:.2f} each"
    return Bar(cost["name"], cost["mean"], look, percent(cost["share"]), tip)


def memory(size: Mapping[str, Any]) -> str:
    """Flash and RAM: without the monitor, with it, and the limit of the part."""
    parts = []
    for i, (kind, what) in enumerate((("flash", "flash"), ("ram", "RAM"))):
        whole, bare = (size[part][f"{kind}_bytes"] for part in ("size", "size_without_heads"))
        limit = size[f"{kind}_limit_bytes"]
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
