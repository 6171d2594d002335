"""Intervals by resampling."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A figure and the 2.5 and 97.5 percentiles of its bootstrap; nan where it is undefined."""

    value: float
    low: float
    high: float
