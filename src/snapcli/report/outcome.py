"""Which method wins: by the paired interval of a difference, and nothing else."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

from snapcli.metrics.bootstrap import Interval
from snapcli.report.numbers import bounds, is_known

T = TypeVar("T")
WINS, TIES, LOSES, UNDEFINED = "wins", "ties", "loses", "undefined"
# What the verdict is about, whatever came out: every task once or twice.
_HEADLINES = (
    *("errors.pooled.auroc", "errors.per_cell.auroc", "errors.clean.auroc", "ood.*.auroc"),
    *("events.auprc", "events.weighted_auprc", "selective.clean.risk_90", "selective.all.risk_90"),
    *("selective.all.aurc", "uncertainty.clean.ece", "uncertainty.corrupted.ece"),
)


def outcome(gain: Interval) -> str:
    """Of a paired gain."""
    between = bounds(gain)
    if not is_known(gain.value) or between is None:
        return UNDEFINED
    if between[0] > 0:
        return WINS
    return LOSES if between[1] < 0 else TIES


def headlines(gains: Mapping[str, T]) -> dict[str, T]:
    """The gains that the verdict counts, in its order."""
    return {k: gains[k] for name in _HEADLINES for k in gains if fnmatchcase(k, name)}


def outcomes(gains: Mapping[str, Interval]) -> dict[str, list[str]]:
    """{outcome: figures}, in the order of the report."""
    by_outcome: dict[str, list[str]] = {word: [] for word in (WINS, TIES, LOSES, UNDEFINED)}
    for key, gain in gains.items():
        by_outcome[outcome(gain)].append(key)
    return by_outcome
