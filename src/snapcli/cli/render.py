"""What the reports of several commands have in common: figures, intervals, tables of detection."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from snapcli import console
from snapcli.config import EVIDENCE
from snapcli.report.words import UNGRADED

if TYPE_CHECKING:
    from snapcli.metrics.bootstrap import Interval
    from snapcli.metrics.detection import Detection, ErrorDetection
    from snapcli.results.calibrate import ControllerReport, Figures, ForeignReport
    from snapcli.score.by_answer import AnswerFigures
    from snapcli.score.calibration import DetectionReport
    from snapcli.score.promise import Promise


def figure(value: float | None) -> str:
    """Three decimals; a dash where there is none, for example no error to detect."""
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f} %"


def plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    return f"{count:,} B"


def within(count: int, limit: int) -> str:
    """limit 0: not known."""
    return f"{size(count)} of {size(limit)}" if limit else size(count)


def ranged(interval: "Interval") -> str:
    if math.isnan(interval.low):
        return figure(interval.value)
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def signed(interval: "Interval") -> str:
    if math.isnan(interval.low):
        return "-" if math.isnan(interval.value) else _gain(interval.value)
    return f"{_gain(interval.value)} [{_gain(interval.low)}, {_gain(interval.high)}]"


def _gain(value: float) -> str:
    """What rounds to 0 has no sign."""
    said = f"{value:+z.3f}"
    return said if said.strip("+0.") else said[1:]


def per_tap(values: "Mapping[str, float]") -> str:
    return ", ".join(f"{tap} {value:.2f}" for tap, value in values.items())


def notes(lines: Sequence[str]) -> None:
    """What a data set had to tell; not part of the result."""
    for line in lines:
        console.note(f"note: {line}")


def by_severity(accuracy: Mapping[str, float], labelled: bool = True) -> list[tuple[str, str]]:
    """A row, if there are corruptions; the figures are means over all types. Types that have one
    severity have a row of their own."""
    what = "accuracy" if labelled else "same answers"
    graded = {severity: value for severity, value in accuracy.items() if severity != UNGRADED}
    rows = []
    if graded:
        ends = " - ".join(dict.fromkeys((min(graded), max(graded))))
        values = " / ".join(percent(value) for value in graded.values())
        rows.append((f"{what}, severity {ends}", values))
    if UNGRADED in accuracy:
        rows.append((f"{what}, corrupted (one severity)", percent(accuracy[UNGRADED])))
    return rows


def _parts(by_score: "Mapping[str, ErrorDetection]") -> dict[str, str]:
    """{field: title} of what error detection is told for: without corruptions, clean data alone."""
    if not any(one.cells for one in by_score.values()):
        return {"clean": "clean"}
    return {"pooled": "pooled", "per_cell": "mean over type x severity", "clean": "clean"}


def detection(title: str, report: "DetectionReport", labelled: bool = True) -> None:
    """AUROC / AUPRC; positive = wrong prediction, or foreign input. Without labels an answer that
    a corruption changed stands for a wrong one."""
    what = "errors, AUROC / AUPRC (positive: a wrong prediction)"
    if not labelled:
        what = "changed answers, AUROC / AUPRC (positive: a corruption changed it)"

    def pair(errors: "Detection") -> str:
        return f"{figure(errors.auroc)} / {figure(errors.auprc)}"

    parts = _parts(report.errors)

    def row(name: str, errors: "ErrorDetection") -> tuple[str, ...]:
        return (name, *(pair(getattr(errors, part)) for part in parts))

    # Without labels there may be no error that anybody knows of.
    if any(not math.isnan(errors.pooled.auroc) for errors in report.errors.values()):
        console.table(
            f"{title}: finding {what}",
            ("score", *parts.values()),
            [row(name, errors) for name, errors in report.errors.items()],
        )
    sets = list(report.ood)
    if not sets:
        return
    rows = [(name, *(pair(report.ood[s][name]) for s in sets)) for name in report.ood[sets[0]]]
    console.table(
        f"{title}: finding foreign inputs, AUROC / AUPRC (positive: the foreign input)",
        ("score", *sets),
        rows,
    )


def promised(promise: "Promise | None", controller: "ControllerReport | None") -> None:
    """What the threshold promises, in a sentence, and where."""
    if promise is None:
        return
    if promise.rule == "risk":
        what, of, seen = "accepted clean inputs are wrong", "accepted", "wrong"
    else:
        what, of, seen = "correct clean inputs are refused", "correct", "refused"
    console.say(
        f"At most {percent(promise.target)} of {what}, with {100 * promise.confidence:g} % "
        f"confidence (n = {promise.n:,} held out and {of}, {promise.count:,} {seen}, bound "
        f"{percent(promise.bound)}). This holds for data like the clean dev data"
        f"{', and not where the controller moves the threshold' if controller else ''}."
    )


def controlled(report: "ControllerReport | None") -> list[tuple[str, str]]:
    if report is None:
        return []
    return [
        ("controller", f"budget {report.budget:g}, eta {report.eta:g}, kappa {report.kappa:g}"),
        ("refused of clean test, controlled", percent(report.abstained_clean_test)),
    ]


def maps(
    title: str, dev: "Mapping[str, ErrorDetection]", taken: str, labelled: bool = True
) -> None:
    """AUROC of every map that was tried, each judged on types that it was not fitted on."""
    if not dev:
        return
    parts = _parts(dev)
    rows = [
        (
            f"{name} (taken)" if name == taken else name,
            *(figure(getattr(errors, part).auroc) for part in parts),
        )
        for name, errors in dev.items()
    ]
    what = "errors" if labelled else "changed answers"
    console.table(f"{title}: maps on dev data, AUROC of {what}", ("map", *parts.values()), rows)


def threshold(value: float) -> str:
    return f"{value:.4f}" if value <= 1.0 else "above 1: nothing is refused"


def map(fitted: "Mapping[str, Any]") -> str:
    """Its kind, and what the gates of a gated map read."""
    gates = [gate["input"] for gate in fitted.get("gates", ())]
    return f"{fitted['kind']} (gates: {', '.join(gates)})" if gates else str(fitted["kind"])


def idle_heads(report: "Figures", remedy: str) -> list[tuple[str, str]]:
    """Said first, where it is so. remedy: the command that calibrates without them."""
    if not report.heads.idle:
        return []
    return [("HEADS IDLE", f"U and F lose nothing without them. Run: {remedy}")]


def heads(report: "Figures") -> str:
    """What they are good for."""
    from snapcli.score.maps import OWN

    found = report.heads
    if not found.present:
        measured = OWN in report.foreign.inputs or report.map["kind"] == EVIDENCE
        return f"none: U and F are made of logits {'and distances' if measured else 'alone'}"
    finds = {"errors": found.find_errors, "foreign inputs": found.find_foreign}
    uses = [what for what, does in finds.items() if does]
    unknown = [what for what, does in finds.items() if does is None]
    said = f"find {' and '.join(uses) or 'nothing'}"
    if not math.isnan(found.gain):
        said += f"; worth {found.gain:+.3f} on dev beyond a map without"
    if unknown:
        said += f". Of {' and '.join(unknown)} these dev data cannot tell"
    return said


def foreign(report: "ForeignReport") -> list[tuple[str, str]]:
    """F: what it reads, and what its threshold finds."""
    found = ", ".join(f"{name} {percent(share)}" for name, share in report.found.items())
    rows = [
        ("F reads", ", ".join(report.inputs)),
        ("threshold of F", f"{threshold(report.threshold)} ({percent(report.share)} of clean dev)"),
        ("called foreign, clean test", percent(report.clean_test)),
    ]
    return [*rows, ("called foreign", found)] if found else rows


def answers(title: str, figures: "Sequence[AnswerFigures]") -> None:
    """The error rate of each answer, and what its offsets are worth."""
    if not figures:
        return
    console.table(
        f"{title}: by answer, test data; AUROC of its errors, without and with offsets",
        ("answer", "share", "wrong", "offset", "strange", "max-p.", "without", "with"),
        [
            (
                row.answer,
                percent(row.share),
                percent(row.wrong),
                *("-" if math.isnan(v) else f"{v:+.2f}" for v in (row.offset, row.strange_offset)),
                *(figure(v) for v in (row.confidence, row.without_offsets, row.with_offsets)),
            )
            for row in figures
        ],
    )
    if any(row.offset or row.strange_offset for row in figures[:-1]):
        console.say(
            "Within one answer an offset changes no order: what all of them are worth is in the "
            "last row. Offsets assume that answers are right as often in the field as in dev data; "
            "--no-class-offsets goes without."
        )
    else:
        console.say("Fitted without class offsets.")
