"""AUROC and AUPRC; the positive class is the error (or the out-of-distribution input)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snapcli.array import Array, Bools
from snapcli.metrics.ranking import Ranked


@dataclass(frozen=True)
class Detection:
    """Both figures in [0, 1]; nan where one of the two classes is empty."""

    auroc: float
    auprc: float


def detection(positive: Bools, score: Array) -> Detection:
    """A higher score should mean positive."""
    if not 0 < positive.sum() < len(positive):
        return Detection(float("nan"), float("nan"))
    auroc, auprc, _ = Ranked(positive, score).figures(np.ones((1, len(positive))))[:, 0]
    return Detection(float(auroc), float(auprc))


@dataclass(frozen=True)
class Cell:
    """One condition: wrong [n] and a score [n]; the clean data are a cell of their own."""

    wrong: Bools
    score: Array


@dataclass(frozen=True)
class Pool:
    """What one score judges: the clean data, and the corrupted cells of its turn."""

    clean: Cell
    corrupted: list[Cell]


@dataclass(frozen=True)
class ErrorDetection:
    """Pooled over clean and corrupted data, mean over (type, severity) cells, clean alone; of
    several pools the first and the last are the means of theirs.

    cells counts those with both right and wrong predictions; only they enter the mean.
    """

    pooled: Detection
    per_cell: Detection
    clean: Detection
    cells: int


def error_detection(pools: Sequence[Pool]) -> ErrorDetection:
    """Scores of two pools are never compared: each may have a scale of its own."""
    everything = [[pool.clean, *pool.corrupted] for pool in pools]
    cells = [_of([cell]) for pool in pools for cell in pool.corrupted]
    return ErrorDetection(
        pooled=_mean([_of(cells) for cells in everything]),
        per_cell=_mean(cells),
        clean=_mean([_of([pool.clean]) for pool in pools]),
        cells=sum(not math.isnan(judged.auroc) for judged in cells),
    )


def _of(cells: list[Cell]) -> Detection:
    return detection(
        np.concatenate([c.wrong for c in cells]), np.concatenate([c.score for c in cells])
    )


def _mean(detections: list[Detection]) -> Detection:
    """Of those that are defined."""
    known = [d for d in detections if not math.isnan(d.auroc)]
    if not known:
        return Detection(float("nan"), float("nan"))
    return Detection(
        float(np.mean([d.auroc for d in known])), float(np.mean([d.auprc for d in known]))
    )


def ood_detection(correct_id: Array, ood: Array) -> Detection:
    """Scores of correctly classified clean inputs against those of foreign inputs."""
    positive = np.concatenate([np.zeros(len(correct_id), bool), np.ones(len(ood), bool)])
    return detection(positive, np.concatenate([correct_id, ood]))
