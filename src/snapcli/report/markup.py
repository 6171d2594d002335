"""HTML and SVG as text."""

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise


def text(value: object) -> str:
    return escape(str(value))


def prose(words: str) -> str:
    """Text in which `commands` stand between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text(words))


def tag(name: str, *inside: str, **attributes: object) -> str:
    """An element around markup. `class_` is class, `data_tip` data-tip; None leaves it out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{said}>{''.join(inside)}</{name}>"


def _short(value: object) -> str:
    """A tenth of a pixel is enough for any place."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def svg(width: float, height: float, label: str, *inside: str) -> str:
    """A picture that shrinks with its column; label: for screen readers."""
    return tag(
        "svg",
        *inside,
        viewBox=f"0 0 {width:g} {height:g}",
        style=f"--w:{width:g}px",
        role="img",
        aria_label=label,
    )


def label(x: float, y: float, words: str, anchor: str = "start", class_: str = "tick") -> str:
    return tag("text", text(words), x=x, y=y, text_anchor=anchor, class_=class_)


def path(points: Sequence[tuple[float, float]], digits: int = 1) -> str:
    """The d of a line through points, in steps from one to the next: that is shortest."""
    scale = 10**digits
    places = [(round(x * scale), round(y * scale)) for x, y in points]

    def said(number: int) -> str:
        return f"{number / scale:.{digits}f}".rstrip("0").rstrip(".") if digits else str(number)

    # One l is enough for all steps, and a minus sign separates as well as a blank.
    numbers = [
        said(step)
        for (before_x, before_y), (x, y) in pairwise(places)
        for step in (x - before_x, y - before_y)
    ]
    start = f"M{said(places[0][0])},{said(places[0][1])}"
    return f"{start}l{' '.join(numbers).replace(' -', '-')}" if numbers else start
