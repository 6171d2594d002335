"""The full tables of a source: every method, every figure, every interval."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from snapcli.metrics.bootstrap import Interval
from snapcli.report.methods import Looks, done, is_ours
from snapcli.report.outcome import headlines
from snapcli.report.table import HIGHER, LOWER, Column, Row, table
from snapcli.report.words import OF_ONE_SEVERITY, UNGRADED, figure_words
from snapcli.results.ablate import Cell
from snapcli.results.eval import (
    DONE,
    DetectionFigures,
    EventFigures,
    MethodFigures,
    ProbabilityFigures,
    Selective,
    SourceFigures,
)

T = TypeVar("T")
Cells = Callable[[MethodFigures], Sequence[Cell]]

_DETECTION: tuple[tuple[Callable[[DetectionFigures], Interval], str, str], ...] = (
    (lambda f: f.auroc, "AUROC", HIGHER),
    (lambda f: f.aupr, "AUPR", HIGHER),
    (lambda f: f.fpr95, "FPR@95", LOWER),
)
_SELECTIVE: tuple[tuple[Callable[[Selective], Interval], str], ...] = (
    (lambda f: f.risk_80, "risk at 80 %"),
    (lambda f: f.risk_90, "risk at 90 %"),
    (lambda f: f.risk_95, "risk at 95 %"),
    (lambda f: f.aurc, "AURC"),
    (lambda f: f.nll_90, "NLL at 90 %"),
)
_CALIBRATED: tuple[tuple[Callable[[ProbabilityFigures], Interval], str], ...] = (
    (lambda f: f.nll, "NLL"),
    (lambda f: f.brier, "Brier"),
    (lambda f: f.ece, "ECE"),
)
_EVENTS: tuple[tuple[Callable[[EventFigures], Cell], Column], ...] = (
    (lambda f: f.auprc, Column("frame AUPRC", HIGHER)),
    (lambda f: f.weighted_auprc, Column("event-weighted AUPRC", HIGHER)),
    (lambda f: f.delay, Column("median delay, frames", LOWER, digits=0)),
    (lambda f: f.miss_rate, Column("miss rate", LOWER)),
    (lambda f: f.false_positives, Column("false positives", LOWER)),
    (lambda f: f.threshold, Column("threshold")),
    (lambda f: f.events, Column("events", digits=0)),
)


def tables(source: SourceFigures, looks: Looks) -> list[tuple[str, str, str]]:
    """(heading, what the figures mean, markup) of each kind of table that has anything."""
    made = (
        _errors,
        _ood,
        _events,
        _selective,
        _calibration,
        _gains,
        _snap_gains,
        _severity,
        _type,
        _tuning,
    )
    return [table for make in made if (table := make(source, looks)) is not None]


def _table(
    source: SourceFigures, looks: Looks, title: str, columns: Sequence[Column], cells: Cells
) -> str:
    rows = []
    for method in source.methods:
        name, look = method.name, f"method {looks(method.name)}"
        if method.status != DONE:
            rows.append(Row([name], method.why or "no reason given", look))
        else:
            rows.append(Row([name, *cells(method)], "", look, is_ours(name)))
    named = f"{source.source} {title}"
    return table(title, [Column("method"), *columns], rows, named)


def _keys(
    source: SourceFigures, by_condition: Callable[[MethodFigures], Mapping[str, T] | None]
) -> list[str]:
    """The conditions of a figure, in the order of the report."""
    return list(dict.fromkeys(key for m in done(source) for key in by_condition(m) or ()))


def _figure(get: Callable[[T], Cell], figures: T | None) -> Cell:
    """None where a method has no such figures."""
    return None if figures is None else get(figures)


def _errors(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    if not any(m.errors for m in done(source)):
        return None
    groups = ("pooled", "mean over type \N{MULTIPLICATION SIGN} severity", "clean")
    columns = [Column("accuracy", HIGHER)]
    columns += [Column(t, better, group) for group in groups for _, t, better in _DETECTION]

    def cells(method: MethodFigures) -> Sequence[Cell]:
        errors = method.errors
        parts = (errors.pooled, errors.per_cell, errors.clean) if errors else (None, None, None)
        return [method.accuracy, *(_figure(get, part) for part in parts for get, *_ in _DETECTION)]

    words = (
        "Positive class: a wrong answer. Pooled: clean and corrupted data together, one half of "
        "the corruption types at a time, each judged by a map that has not seen it; the mean of "
        "both halves. FPR@95: share of right answers above the threshold that finds 95 % of the "
        "wrong ones."
    )
    return "Wrong answers", words, _table(source, looks, "Finding wrong answers", columns, cells)


def _ood(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    sets = _keys(source, lambda m: m.ood)
    if not sets:
        return None
    columns = [Column(t, better, name) for name in sets for _, t, better in _DETECTION]

    def cells(method: MethodFigures) -> Sequence[Cell]:
        return [_figure(get, method.ood.get(name)) for name in sets for get, *_ in _DETECTION]

    words = (
        "Positive class: a foreign input; negative: a clean input that is answered rightly. "
        "FPR@95: share of the latter above the threshold that finds 95 % of the foreign ones."
    )
    return "Foreign inputs", words, _table(source, looks, "Finding foreign inputs", columns, cells)


def _events(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    if not any(m.events for m in done(source)):
        return None

    def cells(method: MethodFigures) -> Sequence[Cell]:
        return [_figure(get, method.events) for get, _ in _EVENTS]

    words = (
        "Positive class: a frame inside an accuracy-drop event. Thresholds come from the dev "
        "stream: delay and miss rate at its best F1; false positives are the share of clean "
        "frames above the one that finds 90 % of its event frames."
    )
    columns = [column for _, column in _EVENTS]
    return "Events", words, _table(source, looks, "Accuracy-drop events", columns, cells)


def _selective(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    keys = _keys(source, lambda m: m.selective)
    if not keys:
        return None
    columns = [Column(t, LOWER, f"{key} data") for key in keys for _, t in _SELECTIVE]

    def cells(method: MethodFigures) -> Sequence[Cell]:
        return [_figure(get, method.selective.get(key)) for key in keys for get, _ in _SELECTIVE]

    words = (
        "Error rate among the accepted at a coverage; AURC: the area under that curve; NLL of the "
        "accepted at 90 %."
    )
    return "Selective", words, _table(source, looks, "Selective prediction", columns, cells)


def _calibration(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    of_posterior = _keys(source, lambda m: m.posterior)
    of_u = _keys(source, lambda m: m.uncertainty)
    groups = [*(f"posterior, {key}" for key in of_posterior), *(f"U, {key}" for key in of_u)]
    if not groups:
        return None
    columns = [Column(t, LOWER, group) for group in groups for _, t in _CALIBRATED]

    def cells(method: MethodFigures) -> Sequence[Cell]:
        parts = [method.posterior.get(key) for key in of_posterior]
        parts += [(method.uncertainty or {}).get(key) for key in of_u]
        return [_figure(get, part) for part in parts for get, _ in _CALIBRATED]

    words = (
        "Posterior: the probabilities of the classes. U: the score itself as the probability of "
        "an error; a dash where the score is none. ECE with 15 bins of equal mass for each map "
        "that judges."
    )
    return "Calibration", words, _table(source, looks, "Calibration", columns, cells)


def _gains(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    keys = list(headlines(dict.fromkeys(_keys(source, lambda m: m.gains))))
    words = (
        "The figure minus that of max-probability, from the same bootstrap samples; above 0 is "
        "better for all. Orange: the method wins, blue: it loses, the interval leaves out 0."
    )
    title = "Paired gains over max-probability"
    markup = _differences(source, looks, title, lambda m: m.gains, keys)
    return ("Paired gains", words, markup) if keys else None


def _snap_gains(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    keys = list(headlines(dict.fromkeys(_keys(source, lambda m: m.snap_gains))))
    words = (
        "What SNAP has more than each other method, from the same bootstrap samples; above 0 SNAP "
        "is better, for all figures. Orange: SNAP wins, blue: it loses, the interval leaves out 0."
    )
    markup = _differences(source, looks, "SNAP over every method", lambda m: m.snap_gains, keys)
    return ("SNAP against each", words, markup) if keys else None


def _differences(
    source: SourceFigures,
    looks: Looks,
    title: str,
    gains: Callable[[MethodFigures], Mapping[str, Interval]],
    keys: Sequence[str],
) -> str:
    columns = [
        Column(figure_words(last), HIGHER, figure_words(what), is_gain=True)
        for what, _, last in (key.rpartition(".") for key in keys)
    ]

    def cells(method: MethodFigures) -> Sequence[Cell]:
        return [gains(method).get(key) for key in keys]

    return _table(source, looks, title, columns, cells)


def _by(
    source: SourceFigures,
    looks: Looks,
    by_condition: Callable[[MethodFigures], Mapping[str, DetectionFigures]],
    what: str,
) -> str:
    keys = sorted(_keys(source, by_condition))
    figures = [(get, t) for get, t, better in _DETECTION if better == HIGHER]
    columns = [Column(_heading(key), HIGHER, t) for _, t in figures for key in keys]

    def cells(method: MethodFigures) -> Sequence[Cell]:
        return [_figure(get, by_condition(method).get(key)) for get, _ in figures for key in keys]

    return _table(source, looks, f"Wrong answers by {what}", columns, cells)


def _heading(key: str) -> str:
    """Of a type or a severity."""
    return OF_ONE_SEVERITY if key == UNGRADED else key.replace("_", " ")


def _severity(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    if not _keys(source, lambda m: m.by_severity):
        return None
    words = "Positive class: a wrong answer. Mean over the types of a severity."
    return "By severity", words, _by(source, looks, lambda m: m.by_severity, "severity")


def _type(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    if not _keys(source, lambda m: m.by_type):
        return None
    words = "Positive class: a wrong answer. Mean over the severities of a type."
    return "By type", words, _by(source, looks, lambda m: m.by_type, "corruption type")


def _tuning(source: SourceFigures, looks: Looks) -> tuple[str, str, str] | None:
    if not any(m.tuning for m in done(source)):
        return None
    columns = [Column("kind"), Column("tried"), Column("chosen"), Column("by, on dev data")]
    columns += [Column("reached"), Column("published in")]

    def cells(method: MethodFigures) -> Sequence[Cell]:
        tuning = method.tuning
        if tuning is None:
            return [method.kind, "nothing to choose", "", "", None, method.source]
        tried = "; ".join(f"{k}: {', '.join(map(_value, v))}" for k, v in tuning.grid.items())
        chosen = "; ".join(f"{k} = {_value(v)}" for k, v in tuning.chosen.items())
        return [method.kind, tried, chosen, tuning.by, tuning.score, method.source]

    words = "Every grid, what dev data chose from it, and the dev score of the choice."
    return "Tuning", words, _table(source, looks, "Grids and choices", columns, cells)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
