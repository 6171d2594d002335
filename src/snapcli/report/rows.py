"""Rows of a figure each, with its interval: gains over max-probability, corruption types."""

from collections.abc import Mapping

from snapcli.metrics.bootstrap import Interval
from snapcli.report.markup import label, svg, tag
from snapcli.report.methods import Looks, drawn, pair
from snapcli.report.numbers import bounds, decimal, is_known, percent, signed, spoken
from snapcli.report.outcome import outcome
from snapcli.report.plot import RIGHT, WIDTH
from snapcli.report.scale import Scale, around
from snapcli.report.words import figure_words
from snapcli.results.eval import MethodFigures, SourceFigures

_ROW = 26
_NAMES = 176


def gains(figures: Mapping[str, Interval]) -> str:
    """Ours minus max-probability's with the paired interval, right of 0 is better. Each row has
    its own scale: what counts is on which side of 0 the whole interval lies."""
    left, right = 186, 372
    middle = (left + right) / 2
    height = 26 + _ROW * len(figures)
    parts = [
        label(left, 12, "worse", "start", "tick"),
        label(right, 12, "better", "end", "tick"),
        tag("path", d=f"M{middle},20V{height - 4}", class_="axis"),
    ]
    for row, (key, figure) in enumerate(figures.items()):
        y = 26 + _ROW * row + _ROW / 2
        value, between = figure.value, bounds(figure)
        parts.append(label(left - 10, y + 4, figure_words(key), "end", "name"))
        if not is_known(value) or between is None:
            parts.append(label(middle, y + 4, "not defined", "middle", "tick"))
            continue
        reach = max(abs(value), abs(between[0]), abs(between[1]), 1e-9)
        at = Scale(-reach, reach, left + 4, right - 4)
        drawn = [
            tag("path", d=f"M{at(between[0]):.1f},{y}H{at(between[1]):.1f}", class_="whisker"),
            tag("circle", cx=at(value), cy=y, r=4.0, class_="dot"),
            label(WIDTH - 4, y + 4, signed(value), "end", "value"),
        ]
        word = outcome(figure)
        tip = f"{figure_words(key)}: {word}\n{signed(value)}, paired interval {signed(between[0])}"
        tip += f" to {signed(between[1])}"
        parts.append(tag("g", *drawn, class_=f"gain {word}", data_tip=tip))
    return svg(WIDTH, height, "Gains over max-probability", *parts)


def by_type(source: SourceFigures, looks: Looks) -> str:
    """AUROC of errors for each corruption type: ours and max-probability with intervals, all
    others as small marks."""
    types = sorted({t for m in drawn(source) for t in m.by_type})
    values = [f.auroc.value for m in drawn(source) for f in m.by_type.values()]
    edges = [e for m in pair(source) for f in m.by_type.values() for e in bounds(f.auroc) or ()]
    low, high = around([v for v in values if is_known(v)] + edges, least=0.1)
    at = Scale(max(low, 0.0), min(high, 1.0), _NAMES, WIDTH - RIGHT)
    height = 30 + _ROW * len(types)
    parts = []
    for tick in at.ticks(5):
        parts.append(tag("path", d=f"M{at(tick):.1f},18V{height - 8}", class_="grid"))
        parts.append(label(at(tick), 12, decimal(tick, 2), "middle"))
    shown = pair(source)
    for row, kind in enumerate(types):
        y = 24 + _ROW * row + _ROW / 2
        parts.append(label(_NAMES - 12, y + 4, kind.replace("_", " "), "end", "name"))
        for method in drawn(source):
            figure = _auroc(method, kind)
            if figure is None or method in shown:
                continue
            mark = tag("path", d=f"M{at.clipped(figure.value):.1f},{y - 5}v10", class_="line")
            parts.append(_series(method, looks, mark, f"{kind}: {spoken(figure)}"))
        for method, shift in zip(reversed(shown), (4.0, -4.0), strict=False):
            figure = _auroc(method, kind)
            if figure is None:
                continue
            place = y + (shift if len(shown) > 1 else 0.0)
            mark = tag("circle", cx=at.clipped(figure.value), cy=place, r=3.6, class_="dot")
            between = bounds(figure)
            if between:
                ends = f"M{at.clipped(between[0]):.1f},{place}H{at.clipped(between[1]):.1f}"
                mark = tag("path", d=ends, class_="whisker") + mark
            parts.append(_series(method, looks, mark, f"{kind}: {spoken(figure)}"))
    return svg(WIDTH, height, "AUROC of errors by corruption type", *parts)


def _auroc(method: MethodFigures, kind: str) -> Interval | None:
    """Of a corruption type; None where it is undefined."""
    figures = method.by_type.get(kind)
    return figures.auroc if figures and is_known(figures.auroc.value) else None


def clusters(source: SourceFigures, looks: Looks) -> str:
    """Share of the errors of each type, at severities 4 and 5, that is refused."""
    shown = [method for method in pair(source) if method.clusters]
    types = list(dict.fromkeys(c.type for m in shown for c in m.clusters))
    at = Scale(0.0, 1.0, _NAMES, WIDTH - 44)
    height = 30 + _ROW * len(types)
    parts = []
    for tick in at.ticks(5):
        parts.append(tag("path", d=f"M{at(tick):.1f},18V{height - 8}", class_="grid"))
        parts.append(label(at(tick), 12, percent(tick, 0), "middle"))
    for row, kind in enumerate(types):
        y = 24 + _ROW * row
        parts.append(label(_NAMES - 12, y + 17, kind.replace("_", " "), "end", "name"))
        for place, method in enumerate(shown):
            cluster = next((c for c in method.clusters if c.type == kind), None)
            if cluster is None or not is_known(cluster.refused):
                continue
            width = max(at(cluster.refused) - at(0), 1.0)
            bar = tag("rect", x=at(0), y=y + 4 + 9 * place, width=width, height=8, class_="bar")
            said = f"{kind}: {percent(cluster.refused)} of {cluster.errors:,} errors"
            parts.append(_series(method, looks, bar, said))
            if place == 0:
                words = f"{cluster.errors:,}"
                parts.append(label(WIDTH - 4, y + 17, words, "end", "value"))
    return svg(WIDTH, height, "Errors refused by corruption type", *parts)


def _series(method: MethodFigures, looks: Looks, mark: str, said: str) -> str:
    look = f"series {looks(method.name)}"
    tip = f"{method.name}\n{said}"
    return tag("g", mark, class_=look, data_method=method.name, data_tip=tip)
