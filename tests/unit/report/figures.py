"""What a calibration reports, made up."""

from math import nan

from snapcli.metrics.detection import Detection, ErrorDetection
from snapcli.results.calibrate import Figures, ForeignReport, HeadsReport
from snapcli.score.by_answer import ANY, AnswerFigures
from snapcli.score.calibration import DetectionReport

SETS = ("photos", "letters")
# AUROC of errors, and of each foreign set.
ERRORS = {"U": 0.9, "S": 0.7, "max-probability": 0.8}
FOREIGN = {"U": 0.91, "F": 0.99, "S": 0.95, "max-probability": 0.75}


def heads(present: bool = True, idle: bool = False) -> HeadsReport:
    used = present and not idle
    return HeadsReport(present, used, idle, 0.02 if used else 0.0, used, used)


def figures(of_heads: HeadsReport | None = None, offsets: float = 0.25) -> Figures:
    """offsets: of the first of two answers; the other has the opposite."""
    of_heads = of_heads or heads()
    # Without heads there is no surprise.
    gone = () if of_heads.present else ("S",)
    errors = {
        name: ErrorDetection(*3 * [Detection(auroc, auroc)], cells=1)
        for name, auroc in ERRORS.items()
        if name not in gone
    }
    ood = {name: Detection(auroc, auroc) for name, auroc in FOREIGN.items() if name not in gone}
    inputs = ("score", "error logit") if of_heads.find_foreign else ("error logit", "own distance")
    answers = (
        AnswerFigures("yes", 0.25, 0.125, offsets, 2 * offsets, 0.81, 0.82, 0.83),
        AnswerFigures("no <0>", 0.75, 0.375, -offsets, 0.0, 0.71, 0.72, 0.73),
        AnswerFigures(ANY, 1.0, 0.3125, nan, nan, 0.76, 0.77, 0.78),
    )
    return Figures(
        heads=of_heads,
        temperature=1.0,
        tap_weights={"block2": 0.5, "block4": 0.5} if of_heads.present else {},
        map={"kind": "class-gated"},
        map_reason="",
        threshold=0.5,
        promise=None,
        coverage_clean_test=0.9,
        foreign=ForeignReport(inputs, 0.9876, 0.01, 0.0321, {"photos": 0.876, "letters": 0.543}),
        answers=answers,
        controller=None,
        accuracy_by_severity={},
        dev={},
        detection=DetectionReport(errors, dict.fromkeys(SETS, ood)),
    )
