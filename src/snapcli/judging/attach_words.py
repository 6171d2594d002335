"""What a user should know of an attached model, in words."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from snapcli.data import Dataset
from snapcli.graph.graph import Graph
from snapcli.judging.tap_choice import TapChoice
from snapcli.monitor.body import Body
from snapcli.results.calibrate import CalibrateReport

# A head that fits has E[e] = 1.
_FAR = 1.5
# An accuracy below so many times that of guessing is rarely the model's fault.
_GUESSING = 1.5
# So much more accuracy under another order of the classes is no chance.
_OTHER_ORDER = 0.2


def meaning(dataset: Dataset, report: CalibrateReport, share: float, dev: int) -> tuple[str, ...]:
    """What U and the threshold promise. share: of clean inputs to be accepted; dev: examples that
    the threshold comes from."""
    return (_of_map(dataset, report), _of_threshold(report, share, dev), *_of_heads(report))


def _of_map(dataset: Dataset, report: CalibrateReport) -> str:
    if report.map["kind"] == "percentile":
        return (
            "U is the share of clean inputs that surprised the model less; it is not a probability "
            "of error."
        )
    if not dataset.labelled:
        return (
            "Without labels an answer counts as wrong where a corruption changed it: U estimates "
            "the probability of that. Errors on clean inputs are not in it."
        )
    if dataset.corruptions:
        return (
            "U estimates the probability that an answer is wrong, for these data and our "
            "corruptions of them."
        )
    return (
        "U estimates the probability that an answer is wrong, for data like these; under a shift "
        "that they do not show it may be off (--augment-dev)."
    )


def _of_threshold(report: CalibrateReport, share: float, dev: int) -> str:
    if report.threshold > 1:
        return (
            f"NOTHING is refused: {dev:,} examples are too few for a threshold that accepts "
            f"{100 * share:g} % of them. Give more, or a smaller --coverage."
        )
    kept = f"Of inputs like the clean ones given, about {100 * share:g} % are accepted"
    if report.map["kind"] == "percentile":
        return (
            f"{kept}; more are refused when inputs look strange to the model. Whether the refused "
            "are wrong more often than the others is not known."
        )
    return f"{kept}."


def _of_heads(report: CalibrateReport) -> tuple[str, ...]:
    if not report.heads.idle:
        return ()
    return (
        "The heads are idle: on these data neither U nor F is worse without them, so their cost "
        "buys nothing. More data, --augment-dev or other --taps may change that; "
        "snap calibrate --taps none leaves them out.",
    )


def without_heads(choice: TapChoice, body: Body, gain: float) -> str:
    """Why automatic taps are none. body: with the heads that were tried."""
    names = ", ".join(tap.after for tap in body.taps)
    return (
        f"the best heads ({names}) would be idle: U gains {gain:+.3f} of worth by them on dev, "
        "which is nothing, and F does not read them"
    )


def float_ends(whole: Graph) -> tuple[str, ...]:
    """whole: the model as the file has it."""
    ends = {whole.tensors[name].dtype for name in (*whole.inputs, *whole.outputs.values())}
    if ends == {"int8"}:
        return ()
    return ("the model has float32 at its ends: the exported C takes and gives their int8",)


def unfit_heads(surprisal: dict[str, float], examples: int) -> tuple[str, ...]:
    """Heads that know only the examples that they were fitted on. surprisal: E[e] of unseen
    ones."""
    return tuple(
        f"E[e] of {tap} is {e:.1f} on inputs that its head has not seen, instead of 1: "
        f"{examples:,} examples are too few, or unlike the others"
        for tap, e in surprisal.items()
        if e > _FAR
    )


def doubts(labels: NDArray[np.int64], answers: NDArray[np.int64], classes: int) -> tuple[str, ...]:
    """Signs that labels or inputs are not what the model means."""
    accuracy = float(np.mean(labels == answers))
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (labels, answers), 1)
    best = counts[linear_sum_assignment(counts, maximize=True)].sum() / len(labels)
    if best > accuracy + _OTHER_ORDER:
        return (
            f"the model is right on {100 * accuracy:.1f} % of these data, but would be on "
            f"{100 * best:.1f} % if its classes stood in another order: see --labels",
        )
    if accuracy < _GUESSING / classes:
        return (
            f"the model is right on {100 * accuracy:.1f} % of these data, as if it guessed: do "
            "the labels stand in its order (--labels), are the inputs made as in its training "
            "(--front-end)?",
        )
    return ()
