"""AUROC and AUPRC; the positive class is the error (or the out-of-distribution input)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.metrics.ranking import Ranked

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Detection:
    """Both figures in [0, 1]; nan where one of the two classes is empty."""

    auroc: float
    auprc: float


def detection(positive: NDArray[np.bool_], score: Array) -> Detection:
    """A higher score should mean positive."""
    if not 0 < positive.sum() < len(positive):
        return Detection(float("nan"), float("nan"))
    auroc, auprc, _ = Ranked(positive, score).figures(np.ones((1, len(positive))))[:, 0]
    return Detection(float(auroc), float(auprc))


@dataclass(frozen=True)
class Cell:
    """One condition: wrong [n] and a score [n]; the clean data are a cell of their own."""

    wrong: NDArray[np.bool_]
    score: Array


@dataclass(frozen=True)
class ErrorDetection:
    """Pooled over all conditions, mean over (type, severity) cells, clean alone.

    cells counts those with both right and wrong predictions; only they enter the mean.
    """

    pooled: Detection
    per_cell: Detection
    clean: Detection
    cells: int


def error_detection(clean: Cell, corrupted: list[Cell]) -> ErrorDetection:
    everything = [clean, *corrupted]
    pooled = detection(
        np.concatenate([c.wrong for c in everything]), np.concatenate([c.score for c in everything])
    )
    found = [detection(c.wrong, c.score) for c in corrupted if 0 < c.wrong.sum() < len(c.wrong)]
    mean = Detection(
        float(np.mean([d.auroc for d in found])) if found else float("nan"),
        float(np.mean([d.auprc for d in found])) if found else float("nan"),
    )
    return ErrorDetection(pooled, mean, detection(clean.wrong, clean.score), len(found))


def ood_detection(correct_id: Array, ood: Array) -> Detection:
    """Scores of correctly classified clean inputs against those of foreign inputs."""
    positive = np.concatenate([np.zeros(len(correct_id), bool), np.ones(len(ood), bool)])
    return detection(positive, np.concatenate([correct_id, ood]))
