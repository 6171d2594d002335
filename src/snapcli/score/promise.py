"""Thresholds that keep a promise about clean data, with a finite-sample bound.

A promise is made on examples that nothing has been fitted on. The thresholds to try, and their
order, are fixed by other examples; each is tested by the exact one-sided binomial bound until the
first one fails, and the last that held is taken. So trying many does not use up the confidence.
"""

import math
from dataclasses import dataclass

import numpy as np

from snapcli.array import Array
from snapcli.errors import CheckError
from snapcli.metrics.detection import Cell
from snapcli.score.threshold import NEVER, just_above

CONFIDENCE = 0.95
_CANDIDATES = 50


@dataclass(frozen=True)
class Promise:
    """Of the examples held out, rule `risk` counts the wrong ones among n accepted, `false-alarm`
    the refused ones among n correct. With the confidence, their true rate is at most the bound,
    which is at most the target; all are shares in [0, 1]."""

    rule: str
    target: float
    confidence: float
    n: int
    count: int
    bound: float


def upper_bound(count: int, n: int) -> float:
    """Clopper and Pearson's one-sided bound of a rate that was seen `count` times in n."""
    from scipy.stats import beta

    return 1.0 if count >= n else float(beta.ppf(CONFIDENCE, count + 1, n - count))


def least_examples(target: float) -> int:
    """The smallest n whose bound, with a count of 0, is at most the target."""
    return math.ceil(math.log(1 - CONFIDENCE) / math.log1p(-target) - 1e-9)


def threshold_by_risk(seen: Cell, held_out: Cell, target: float) -> tuple[float, Promise]:
    """The highest threshold found at which at most `target` of accepted inputs are wrong.

    Candidates go up from the one that looks safest on the examples seen: from the least that
    could hold at all, one unlucky error among the first few would end the search.
    """
    least = least_examples(target)
    candidates = _candidates(seen, least, target)
    choice, best = None, 1.0
    for threshold in candidates:
        accepted = held_out.score < threshold
        n, count = int(accepted.sum()), int(held_out.wrong[accepted].sum())
        if n < least:
            continue  # could not hold, whatever the labels say
        bound = upper_bound(count, n)
        best = min(best, bound)
        if bound > target:
            break
        choice = float(threshold), Promise("risk", target, CONFIDENCE, n, count, bound)
    if choice is None:
        raise _refusal("risk", "clean dev examples", len(held_out.wrong), target, best)
    return choice


def _candidates(seen: Cell, least: int, target: float) -> Array:
    """Ascending thresholds, from the one with the smallest p-value on the examples seen."""
    from scipy.stats import binom

    count = len(seen.score)
    accepted = np.linspace(min(least, count), count, _CANDIDATES).round().astype(int)
    every = np.unique([*(just_above(seen.score, n) for n in accepted), NEVER])
    refused = seen.score[:, np.newaxis] >= every
    wrong = np.sum(seen.wrong[:, np.newaxis] & ~refused, axis=0)
    p = binom.cdf(wrong, np.sum(~refused, axis=0), target)
    return every[int(np.argmin(p)) :]


def threshold_by_false_alarm(seen: Cell, held_out: Cell, target: float) -> tuple[float, Promise]:
    """The lowest threshold found at which at most `target` of correct inputs are refused.

    Candidates go down from refusing nothing, by the values of the correct examples seen.
    """
    correct = held_out.score[~held_out.wrong]
    n, choice = len(correct), None
    for threshold in (NEVER, *np.unique(seen.score[~seen.wrong])[::-1]):
        count = int(np.sum(correct >= threshold))
        bound = upper_bound(count, n)
        if bound > target:
            break
        choice = float(threshold), Promise("false-alarm", target, CONFIDENCE, n, count, bound)
    if choice is None:
        best = upper_bound(0, n)
        raise _refusal("false-alarm rate", "correct clean dev examples", n, target, best)
    return choice


def _refusal(what: str, examples: str, n: int, target: float, best: float) -> CheckError:
    def above(bound: float) -> str:
        return f"{math.ceil(1e4 * bound) / 1e4:g}"

    least = least_examples(target)
    if n < least:
        hint = (
            f"At least {least:,} must be held out, from twice as many; with {n:,} the smallest "
            f"target that could be promised is {above(upper_bound(0, n))}."
        )
    else:
        hint = (
            "Too many of the surest are wrong: the smallest target that could have been promised "
            f"is {above(best)}. Ask for more than that, or give more dev data."
        )
    return CheckError(
        f"not enough data for this promise: a {what} of at most {target:g} cannot be shown "
        f"with n = {n:,} {examples} held out",
        hint,
    )
