"""Examples in the order of a score. Equal scores are one group: no threshold can part them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array

Weights = NDArray[np.number]
"""[B, n]: a row for each resample, how often it holds each example."""

ROUNDING = 1e-9
"""A share that is reached exactly may be a rounding error short of it."""


@dataclass(frozen=True)
class Groups:
    """order [n]: the examples by rising score. ends [groups]: where in it each group has its last
    one."""

    order: NDArray[np.intp]
    ends: NDArray[np.intp]

    def ordered(self, weights: Weights) -> Weights:
        """[B, n] of the examples -> [B, n] in order."""
        return np.take(weights, self.order, axis=1)

    def cumulated(self, ordered: Weights) -> Array:
        """[B, n] in order -> [B, groups]: the sum over each group and all before it."""
        # Counts of a resample are added several times faster as integers, and stay exact.
        kind = np.int32 if ordered.dtype == np.uint8 else np.float64
        total = np.cumsum(ordered, axis=1, dtype=kind)
        at_ends = total if len(self.ends) == len(self.order) else total[:, self.ends]
        return at_ends.astype(np.float64, copy=False)


def grouped(score: NDArray[np.number]) -> Groups:
    order = np.argsort(score)
    differs = score[order][1:] != score[order][:-1]
    return Groups(order, np.flatnonzero(np.append(differs, True)))


def before(cumulated: Array) -> Array:
    """[B, groups]: the sum over all groups before each."""
    return np.concatenate([np.zeros_like(cumulated[:, :1]), cumulated[:, :-1]], axis=1)


def first_reaching(cumulated: Array, share: float) -> NDArray[np.intp]:
    """[B, 1]: the first group with which so much of the total is reached."""
    enough = cumulated >= (share - ROUNDING) * cumulated[:, -1:]
    return enough.argmax(axis=1)[:, None]
