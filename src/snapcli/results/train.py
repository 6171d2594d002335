"""train/history.json: the epochs of a training, and what came of it."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.models.loop import Progress
from snapcli.stored import read_as


@dataclass(frozen=True)
class TrainTime:
    """seconds: of the epochs; waited_share: of these, what the network stood still for lack of
    inputs; heads_s: seconds for heads that were fitted after them."""

    seconds: float
    waited_share: float
    heads_s: float


@dataclass(frozen=True)
class TrainReport:
    """Accuracies in [0, 1] of the float model on clean data; per tap on clean dev data the mean
    surprisal, what it is where the head fits (nan: no formula gives it) and its correlation with
    1 - max p, and a verdict. lambda_ss: in the last epoch; nu: of a Student-t. notes: what the
    data had to be converted from, or lack."""

    run: str
    dataset: str
    backbone: str
    seed: int
    epochs: int
    dev_accuracy: float
    test_accuracy: float
    lambda_ss: float
    nu: float | None
    mean_surprisal: dict[str, float]
    expected_surprisal: dict[str, float]
    doubt_correlation: dict[str, float]
    verdict: dict[str, str]
    notes: tuple[str, ...]
    time: TrainTime


@dataclass(frozen=True)
class TrainFigures:
    """Of a TrainReport, what history.json keeps and others read."""

    test_accuracy: float
    mean_surprisal: dict[str, float]


@dataclass(frozen=True)
class History:
    """history.json."""

    report: TrainFigures
    epochs: tuple[Progress, ...]


def history(folder: Path) -> History:
    """folder: train/ of a run."""
    return read_as(folder / "history.json", History)
