"""attach/report.json: what attach made of a finished model."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.results.calibrate import CalibrateReport
from snapcli.results.taps import Candidate
from snapcli.stored import read_as


@dataclass(frozen=True)
class AttachReport:
    """converted: from Keras, otherwise the file ships as it was given; float_agreement: share of
    dev examples that the Keras model and its int8 twin answer alike, else nan; model_bytes,
    model_sha256: of the .tflite that ships. examples: how many the heads (train), the map (dev)
    and the figures (test) have seen. accuracy: on clean test data, nan without labels; taps: why
    these. flash_bytes, overhead: about what the monitor costs beyond the backbone, overhead as a
    share of its instructions (cost_is_measured: otherwise of its operations). mean_surprisal: of
    each tap on clean dev data, 1 where a head fits. means: what U and the threshold promise on
    these data, and what not."""

    run: str
    calibrate: CalibrateReport
    model: str
    converted: bool
    float_agreement: float
    model_bytes: int
    model_sha256: str
    macs: int
    data: str
    labelled: bool
    examples: dict[str, int]
    accuracy: float
    candidates: tuple[Candidate, ...]
    taps: tuple[str, ...]
    taps_reason: str
    flash_bytes: int
    overhead: float
    cost_is_measured: bool
    mean_surprisal: dict[str, float]
    means: tuple[str, ...]
    notes: tuple[str, ...]


def attach_report(folder: Path) -> AttachReport:
    """folder: attach/ of a run."""
    return read_as(folder / "report.json", AttachReport)
