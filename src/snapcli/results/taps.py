"""taps/taps.json: what every candidate tap gains and costs."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.score.selection import TapCost, TapStep
from snapcli.stored import read_as


@dataclass(frozen=True)
class Candidate:
    """A tap by itself. score_correlation: of its surprisal with S of all taps; auprc: of errors
    on dev data, nan where there are none; cost: beyond the backbone, with the code that all taps
    share."""

    tap: str
    before: str
    rank: int
    score_correlation: float
    auprc: float
    cost: TapCost


@dataclass(frozen=True)
class TapsReport:
    """correlation [taps, taps]: of the surprisals on dev data, clean and corrupted. AUPRC: of
    errors, pooled over dev conditions, the gated map fitted on other corruption types; without:
    by the map temperature, which uses no tap. overhead: of the recommended taps, as a share of
    backbone_instructions."""

    run: str
    target: str
    kernels: str
    candidates: tuple[Candidate, ...]
    correlation: list[list[float]]
    auprc_without: float
    backbone_instructions: int
    steps: tuple[TapStep, ...]
    recommended: tuple[str, ...]
    overhead: float
    picture: str


def taps_report(folder: Path) -> TapsReport:
    """folder: taps/ of a run."""
    return read_as(folder / "taps.json", TapsReport)
