"""Figures as words: a dash for what is left out (None) or undefined (nan)."""

import math
from typing import TypeGuard

from snapcli.metrics.bootstrap import Interval

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def is_known(value: float | None) -> TypeGuard[float]:
    return value is not None and not math.isnan(value)


def bounds(figure: Interval) -> tuple[float, float] | None:
    """None unless both are known."""
    low, high = figure.low, figure.high
    return (low, high) if is_known(low) and is_known(high) else None


def decimal(value: float | None, digits: int = 3) -> str:
    return f"{value:z.{digits}f}".replace("-", MINUS) if is_known(value) else DASH


def signed(value: float | None, digits: int = 3) -> str:
    """What rounds to 0 has no sign."""
    if not is_known(value):
        return DASH
    said = f"{value:+z.{digits}f}".replace("-", MINUS)
    return said if said.strip("+0.") else said[1:]


def percent(value: float | None, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}\N{NO-BREAK SPACE}%" if is_known(value) else DASH


def spoken(figure: Interval, digits: int = 3) -> str:
    """0.871 (0.859 to 0.882)."""
    between = bounds(figure)
    said = decimal(figure.value, digits)
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
