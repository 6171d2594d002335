"""Figures as words. An interval is {value, low, high}, as JSON has it: null where undefined."""

from collections.abc import Mapping
from typing import Any

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"

Interval = Mapping[str, float | None]


def value_of(figure: Any) -> float | None:
    """Of an interval, or of a plain number."""
    return figure.get("value") if isinstance(figure, Mapping) else figure


def bounds(figure: Any) -> tuple[float, float] | None:
    if not isinstance(figure, Mapping):
        return None
    low, high = figure.get("low"), figure.get("high")
    return None if low is None or high is None else (low, high)


def decimal(value: float | None, digits: int = 3) -> str:
    return DASH if value is None else f"{value:z.{digits}f}".replace("-", MINUS)


def signed(value: float | None, digits: int = 3) -> str:
    """What rounds to 0 has no sign."""
    if value is None:
        return DASH
    said = f"{value:+z.{digits}f}".replace("-", MINUS)
    return said if said.strip("+0.") else said[1:]


def percent(value: float | None, digits: int = 1) -> str:
    return DASH if value is None else f"{100 * value:.{digits}f}\N{NO-BREAK SPACE}%"


def spoken(figure: Any, digits: int = 3) -> str:
    """0.871 (0.859 to 0.882)."""
    between = bounds(figure)
    said = decimal(value_of(figure), digits)
    if between is None:
        return said
    return f"{said} ({decimal(between[0], digits)} to {decimal(between[1], digits)})"


def kilobytes(count: float) -> str:
    if abs(count) < 1024:
        return f"{count:,.0f}\N{NO-BREAK SPACE}B"
    return f"{count / 1024:,.1f}\N{NO-BREAK SPACE}KB"


def plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def joined(words: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
