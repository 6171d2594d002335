"""What the reports of several commands have in common: figures, intervals, tables of detection."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from snapcli import console
from snapcli.report.words import UNGRADED

if TYPE_CHECKING:
    from snapcli.metrics.bootstrap import Interval
    from snapcli.metrics.detection import Detection, ErrorDetection
    from snapcli.results.calibrate import ControllerReport, Figures
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
    rows = [(name, *(pair(report.ood[s][name]) for s in sets)) for name in report.errors]
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


def silent(report: "Figures") -> list[tuple[str, str]]:
    return [] if report.reads_surprise else [("heads", "idle: U does not depend on S")]
