"""The picture of `snap taps`: which taps agree, and what each further tap adds."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

import numpy as np

from snapcli.array import Array
from snapcli.score.selection import TapStep

_CELL, _LEFT, _TOP, _GAP = 74, 150, 84, 70
_PLOT_W, _PLOT_H = 360, 260
_FONT = 'font-family="Helvetica, Arial, sans-serif"'
# -1, 0, 1: blue, paper, red; equal steps look equally far apart.
_ENDS = np.array([[33, 102, 172], [247, 247, 247], [178, 24, 43]], float)


def draw_taps(
    names: Sequence[str],
    correlation: Array,
    with_score: Array,
    start: float,
    steps: Sequence[TapStep],
    title: str,
) -> str:
    """SVG; taps that the search took are bold. correlation [taps, taps] and with_score [taps] in
    [-1, 1]; start: AUPRC of no tap."""
    count = len(names)
    side = _CELL * count
    plot_x = _LEFT + side + _CELL + 30 + _GAP
    width = plot_x + _PLOT_W + 40
    height = _TOP + max(side, _PLOT_H + 44) + 24
    parts = [
        _text(20, 34, title, 18, weight="bold"),
        _text(_LEFT, _TOP - 28, "correlation of surprisals", 13),
        _text(_LEFT + side + 30 + _CELL / 2, _TOP - 28, "with S", 13, anchor="middle"),
    ]
    for row, name in enumerate(names):
        y = _TOP + row * _CELL
        taken = "bold" if name in {step.tap for step in steps} else "normal"
        parts.append(_text(_LEFT - 10, y + _CELL / 2 + 5, name, 13, "end", weight=taken))
        x = _LEFT + row * _CELL + _CELL / 2
        parts.append(_text(x, _TOP - 8, name, 11, anchor="middle"))
        parts += [
            _cell(_LEFT + column * _CELL, y, float(correlation[row, column]))
            for column in range(count)
        ]
        parts.append(_cell(_LEFT + side + 30, y, float(with_score[row])))
    parts += _curve(plot_x, start, steps)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {_FONT}>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _cell(x: float, y: float, value: float) -> str:
    colour = _colour(value)
    ink = "white" if abs(value) > 0.6 else "#222"
    return (
        f'<rect x="{x}" y="{y}" width="{_CELL - 2}" height="{_CELL - 2}" fill="{colour}"/>'
        + _text(x + _CELL / 2 - 1, y + _CELL / 2 + 5, f"{value:.2f}", 14, "middle", ink)
    )


def _colour(value: float) -> str:
    channels = [np.interp(value, (-1, 0, 1), _ENDS[:, c]) for c in range(3)]
    return "#" + "".join(f"{round(c):02x}" for c in channels)


def _curve(x0: float, start: float, steps: Sequence[TapStep]) -> list[str]:
    """AUPRC against the number of taps, each point with the tap that was added."""
    values = [start, *(step.auprc for step in steps)]
    labels = ["none", *(f"+ {step.tap}" for step in steps)]
    prices = ["", *(f"{step.cost.flash_bytes / 1024:.1f} KB" for step in steps)]
    low, high = min(values), max(values)
    margin = max(0.15 * (high - low), 0.005)
    low, high = low - margin, high + margin
    spread = max(len(values) - 1, 1)

    def place(i: int) -> tuple[float, float]:
        y = _TOP + _PLOT_H * (1 - (values[i] - low) / (high - low))
        return x0 + 30 + (_PLOT_W - 60) * i / spread, y

    points = [place(i) for i in range(len(values))]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [
        _text(x0, _TOP - 28, "AUPRC of errors on dev data, flash of all taps so far", 13),
        f'<path d="M{x0},{_TOP} V{_TOP + _PLOT_H} H{x0 + _PLOT_W}" fill="none" stroke="#888"/>',
        f'<polyline points="{line}" fill="none" stroke="#b2182b" stroke-width="2"/>',
    ]
    for (x, y), value, label, price in zip(points, values, labels, prices, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#b2182b"/>')
        parts.append(_text(x, y - 14, f"{value:.3f}", 12, "middle"))
        parts.append(_text(x, _TOP + _PLOT_H + 20, label, 12, "middle"))
        parts.append(_text(x, _TOP + _PLOT_H + 38, price, 11, "middle", "#666"))
    return parts


def _text(
    x: float,
    y: float,
    content: str,
    size: int,
    anchor: str = "start",
    fill: str = "#222",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="{fill}" font-weight="{weight}">{escape(content)}</text>'
    )
