"""Lines over two axes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from snapcli.report.markup import label, path, svg, tag
from snapcli.report.scale import Scale

# Small enough for a phone at nearly full size; wider pages show several beside each other.
WIDTH, HEIGHT = 440, 310
LEFT, RIGHT, TOP, BOTTOM = 58, 20, 12, 44

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """title below or beside it; said: how a tick is written."""

    title: str
    low: float
    high: float
    said: Callable[[float], str]
    ticks: Sequence[float] | None = None


@dataclass(frozen=True)
class Line:
    """look: classes of the style sheet. band: [x, low, high], an interval around the points. dots:
    on every point; marks: points that have one even so."""

    name: str
    look: str
    points: Sequence[Point]
    tip: str
    band: Sequence[tuple[float, float, float]] = ()
    dots: bool = False
    marks: Sequence[Point] = ()


def plot(
    title: str, x: Axis, y: Axis, lines: Sequence[Line], behind: Sequence[Sequence[Point]] = ()
) -> str:
    """behind: thin lines of reference."""
    across = Scale(x.low, x.high, LEFT, WIDTH - RIGHT)
    up = Scale(y.low, y.high, HEIGHT - BOTTOM, TOP)

    def placed(points: Sequence[Point]) -> list[Point]:
        return [(across(px), up.clipped(py)) for px, py in points]

    parts = [axes(x, y, across, up)]
    parts += [tag("path", d=path(placed(points)), class_="reference") for points in behind]
    parts += [_band(line, across, up) for line in lines if line.band]
    for line in lines:
        d = path(placed(line.points))
        drawn = [tag("path", d=d, class_="line")]
        drawn += [
            tag("circle", cx=cx, cy=cy, r=3.2, class_="dot")
            for cx, cy in placed(line.points if line.dots else line.marks)
        ]
        # Easier to point at than a thin line.
        drawn.append(tag("path", d=d, class_="hit"))
        look = f"series {line.look}"
        parts.append(tag("g", *drawn, class_=look, data_method=line.name, data_tip=line.tip))
    return svg(WIDTH, HEIGHT, title, *parts)


def _band(line: Line, across: Scale, up: Scale) -> str:
    upper = [(across(x), up.clipped(high)) for x, _, high in line.band]
    lower = [(across(x), up.clipped(low)) for x, low, _ in reversed(line.band)]
    look = f"band {line.look}"
    return tag("path", d=path([*upper, *lower]) + "Z", class_=look, data_method=line.name)


def axes(x: Axis, y: Axis, across: Scale, up: Scale) -> str:
    parts = []
    for value in y.ticks if y.ticks is not None else up.ticks():
        place = up(value)
        parts.append(tag("path", d=f"M{across.start:g},{place:.1f}H{across.end:g}", class_="grid"))
        parts.append(label(across.start - 7, place + 3.5, y.said(value), "end"))
    for value in x.ticks if x.ticks is not None else across.ticks():
        parts.append(label(across(value), up.start + 17, x.said(value), "middle"))
    parts.append(tag("path", d=f"M{across.start:g},{up.start:g}H{across.end:g}", class_="axis"))
    middle = (across.start + across.end) / 2
    parts.append(label(middle, up.start + 37, x.title, "middle", "name"))
    turned = f"rotate(-90 10 {(up.start + up.end) / 2:g})"
    side = label(10, (up.start + up.end) / 2, y.title, "middle", "name")
    parts.append(side.replace("<text ", f'<text transform="{turned}" ', 1))
    return "".join(parts)
