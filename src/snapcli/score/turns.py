"""Which map judges which data: a map is never judged on corruption types that it was fitted to.

Types are dealt into two halves. A map that is fitted on one half judges the other and the clean
data, by itself: two maps have two scales, which have no common threshold or order. Figures
are means over the two. Every score is judged so, also one that nothing was fitted for; otherwise
it would be measured on other data than a map that is made of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """Corruption types, beside clean data: what a map is fitted on, and what it judges then."""

    fitted: tuple[str, ...]
    judged: tuple[str, ...]


def turns(fitted: Sequence[str], judged: Sequence[str]) -> list[Turn]:
    """fitted: the types of dev data, judged: those of the data in question. Every judged type
    belongs to one turn. With fewer than two types to fit on, a map that knows clean data alone
    judges everything."""
    if len(fitted) < 2:
        return [Turn((), tuple(judged))]
    first, second = tuple(fitted[0::2]), tuple(fitted[1::2])
    both = [
        Turn(first, tuple(name for name in judged if name not in first)),
        Turn(second, tuple(name for name in judged if name in first)),
    ]
    # Clean data alone are not a turn, unless there is nothing else.
    return [turn for turn in both if turn.judged] or both[:1]
