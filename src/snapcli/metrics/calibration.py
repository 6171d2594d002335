"""How far stated probabilities are from what comes true.

Bins hold equal mass: in the order of the stated probability, each takes 1/bins of the weight. An
example, or a group with the same probability, that lies across an edge is shared between both bins
in proportion. So neither the order of the file nor that of equals matters.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.metrics.ties import Weights, grouped

BINS = 15
_FLOOR = 1e-12


def nll(probabilities: Array, y: NDArray[np.integer]) -> Array:
    """[n] of probabilities [n, L] and labels [n]: minus the logarithm of the label's."""
    return -np.log(np.maximum(probabilities[np.arange(len(y)), y], _FLOOR))


def brier(probabilities: Array, y: NDArray[np.integer]) -> Array:
    """[n] of probabilities [n, L] and labels [n]: mean squared distance to one-hot labels."""
    return np.mean((probabilities - np.eye(probabilities.shape[1])[y]) ** 2, axis=1)


def binary_nll(p: Array, wrong: Bools) -> Array:
    """[n] of p [n], the stated probability of being wrong."""
    return -np.log(np.maximum(np.where(wrong, p, 1 - p), _FLOOR))


def binary_brier(p: Array, wrong: Bools) -> Array:
    """[n] of p [n], the stated probability of being wrong."""
    return (p - wrong) ** 2


def weighted_mean(values: Array, weights: Weights) -> Array:
    """[B] of values [n] and weights [B, n]."""
    return weights @ values / weights.sum(axis=1)


def ece(confidence: Array, correct: Bools, weights: Weights, bins: int = BINS) -> Array:
    """[B]: mean distance between confidence [n] and accuracy, bin by bin."""
    groups = grouped(confidence)
    ordered = groups.ordered(weights)
    mass = groups.cumulated(ordered)
    gap = groups.cumulated(ordered * (correct - confidence)[groups.order])
    return np.abs(_binned(mass, gap, bins)).sum(axis=1) / mass[:, -1]


def reliability(
    parts: Sequence[tuple[Array, Bools]], bins: int = BINS
) -> list[tuple[float, float, float]]:
    """Of several (stated probability, what came true), bin by bin the mean over them: (mean stated
    probability, share that came true, share of all examples) by rising stated probability. Bins
    with one and the same probability are one."""
    means = np.mean([_bins(*part, bins) for part in parts], axis=0)
    rows = []
    for _, same in groupby(means.tolist(), key=lambda bin: round(bin[0], 9)):
        held = np.array(list(same))
        rows.append((*held.mean(axis=0).tolist(), len(held) / bins))
    return rows


def _bins(stated: Array, observed: Bools, bins: int) -> Array:
    """[bins, 2]: mean stated probability and share that came true."""
    groups = grouped(stated)
    ones = np.ones((1, len(stated)))
    mass = groups.cumulated(ones)
    sums = (groups.cumulated(ones * values[groups.order]) for values in (stated, observed))
    return np.stack([_binned(mass, s, bins)[0] * bins / len(stated) for s in sums], axis=1)


def _binned(mass: Array, value: Array, bins: int) -> Array:
    """[B, bins] of what is cumulated over groups [B, groups]: the part of the value in each."""
    edges = np.linspace(0, 1, bins + 1)
    mass, value = (np.pad(c, ((0, 0), (1, 0))) for c in (mass, value))
    at_edges = [np.interp(edges * m[-1], m, v) for m, v in zip(mass, value, strict=True)]
    return np.diff(at_edges, axis=1)
