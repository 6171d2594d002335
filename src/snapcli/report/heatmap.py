"""Correlations as a heat map: blue below 0, orange above."""

from collections.abc import Sequence

from snapcli.report.markup import label, svg, tag
from snapcli.report.numbers import decimal, is_known
from snapcli.report.plot import WIDTH

_TOP, _CELL = 26, 54


def heatmap(names: Sequence[str], correlation: Sequence[Sequence[float]]) -> str:
    """correlation [names, names] in [-1, 1]; nan where it is not defined."""
    left = min(12 + 7.2 * max(map(len, names)), 170)
    cell = min(_CELL, (WIDTH - left) / len(names))
    height = _TOP + cell * len(names) + 4
    parts = []
    for row, name in enumerate(names):
        y = _TOP + row * cell
        parts.append(label(left - 8, y + cell / 2 + 4, name, "end", "name"))
        parts.append(label(left + (row + 0.5) * cell, _TOP - 9, _short(name), "middle"))
        for column, value in enumerate(correlation[row]):
            x = left + column * cell
            strength = round(100 * min(abs(value), 1.0)) if is_known(value) else 0
            side = "below" if value < 0 else "above"
            ink = "on" if strength > 55 else "off"
            box = tag(
                "rect",
                x=x,
                y=y,
                width=cell - 2,
                height=cell - 2,
                rx=3,
                class_=f"cell {side}",
                style=f"--s:{strength}%",
            )
            words = label(
                x + cell / 2 - 1, y + cell / 2 + 4, decimal(value, 2), "middle", f"ink {ink}"
            )
            tip = f"{name} and {names[column]}: {decimal(value)}"
            parts.append(tag("g", box, words, data_tip=tip))
    return svg(max(left + cell * len(names), 240), height, "Correlation of surprisals", *parts)


def _short(name: str) -> str:
    return name if len(name) < 8 else f"{name[:6]}\N{HORIZONTAL ELLIPSIS}"
