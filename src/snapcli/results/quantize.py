"""quantize/report.json: what the integer model does, and how far it is from the float one."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.results.calibrate import Figures
from snapcli.stored import read_as


@dataclass(frozen=True)
class Drift:
    """int8 against float on test data: accuracies in [0, 1], rank correlation of S, and the share
    of inputs whose predicted class agrees."""

    float_accuracy: float
    int8_accuracy: float
    agreement: float
    spearman_all: float
    spearman_clean: float


@dataclass(frozen=True)
class QuantizeReport(Figures):
    """Of the integer reference; mean_surprisal of each tap on clean dev data."""

    run: str
    model_bytes: int
    macs: int
    mean_surprisal: dict[str, float]
    drift: Drift


def quantize_report(folder: Path) -> QuantizeReport:
    """folder: quantize/ of a run."""
    return read_as(folder / "report.json", QuantizeReport)
