"""The full tables of a source: every method, every figure, every interval."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from snapcli.report.methods import Looks, is_ours
from snapcli.report.outcome import headlines
from snapcli.report.table import HIGHER, LOWER, Column, Row, table
from snapcli.report.words import OF_ONE_SEVERITY, UNGRADED, figure_words

Json = Mapping[str, Any]
Cells = Callable[[Json], list[Any]]

_FOUND = (("auroc", "AUROC", HIGHER), ("aupr", "AUPR", HIGHER), ("fpr95", "FPR@95", LOWER))
_SELECTIVE = (
    ("risk_80", "risk at 80 %"),
    ("risk_90", "risk at 90 %"),
    ("risk_95", "risk at 95 %"),
    ("aurc", "AURC"),
    ("nll_90", "NLL at 90 %"),
)
_CALIBRATED = (("nll", "NLL"), ("brier", "Brier"), ("ece", "ECE"))


def tables(source: Json, looks: Looks) -> list[tuple[str, str, str]]:
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


def _table(source: Json, looks: Looks, title: str, columns: Sequence[Column], cells: Cells) -> str:
    rows = []
    for method in source["methods"]:
        name, look = method["name"], f"method {looks(method['name'])}"
        if method["status"] != "done":
            rows.append(Row([name], method["why"] or "no reason given", look))
        else:
            rows.append(Row([name, *cells(method)], "", look, is_ours(name)))
    named = f"{source['source']} {title}"
    return table(title, [Column("method"), *columns], rows, named)


def _done(source: Json) -> list[Json]:
    return [m for m in source["methods"] if m["status"] == "done"]


def _keys(source: Json, part: str) -> list[str]:
    """Of a figure that is by condition, in the order of the report."""
    return list(dict.fromkeys(key for m in _done(source) for key in m[part] or ()))


def _get(values: Any, *path: str) -> Any:
    for key in path:
        if values is None:
            return None
        values = values.get(key)
    return values


def _errors(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    if not any(m["errors"] for m in _done(source)):
        return None
    parts = (
        ("pooled", "pooled"),
        ("per_cell", "mean over type \N{MULTIPLICATION SIGN} severity"),
        ("clean", "clean"),
    )
    columns = [Column("accuracy", HIGHER)]
    columns += [Column(t, better, group) for _, group in parts for _, t, better in _FOUND]

    def cells(method: Json) -> list[Any]:
        figures = [_get(method["errors"], part, key) for part, _ in parts for key, _, _ in _FOUND]
        return [method["accuracy"], *figures]

    words = (
        "Positive class: a wrong answer. Pooled: clean and corrupted data together, one half of "
        "the corruption types at a time, each judged by a map that has not seen it; the mean of "
        "both halves. FPR@95: share of right answers above the threshold that finds 95 % of the "
        "wrong ones."
    )
    return "Wrong answers", words, _table(source, looks, "Finding wrong answers", columns, cells)


def _ood(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    sets = _keys(source, "ood")
    if not sets:
        return None
    columns = [Column(t, better, name) for name in sets for _, t, better in _FOUND]

    def cells(method: Json) -> list[Any]:
        return [_get(method["ood"], name, key) for name in sets for key, _, _ in _FOUND]

    words = (
        "Positive class: a foreign input; negative: a clean input that is answered rightly. "
        "FPR@95: share of the latter above the threshold that finds 95 % of the foreign ones."
    )
    return "Foreign inputs", words, _table(source, looks, "Finding foreign inputs", columns, cells)


def _events(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    if not any(m["events"] for m in _done(source)):
        return None
    parts = (
        ("auprc", Column("frame AUPRC", HIGHER)),
        ("weighted_auprc", Column("event-weighted AUPRC", HIGHER)),
        ("delay", Column("median delay, frames", LOWER, digits=0)),
        ("miss_rate", Column("miss rate", LOWER)),
        ("false_positives", Column("false positives", LOWER)),
        ("threshold", Column("threshold")),
        ("events", Column("events", digits=0)),
    )

    def cells(method: Json) -> list[Any]:
        return [_get(method["events"], key) for key, _ in parts]

    words = (
        "Positive class: a frame inside an accuracy-drop event. Thresholds come from the dev "
        "stream: delay and miss rate at its best F1; false positives are the share of clean "
        "frames above the one that finds 90 % of its event frames."
    )
    columns = [column for _, column in parts]
    return "Events", words, _table(source, looks, "Accuracy-drop events", columns, cells)


def _selective(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    keys = _keys(source, "selective")
    if not keys:
        return None
    columns = [Column(t, LOWER, f"{key} data") for key in keys for _, t in _SELECTIVE]

    def cells(method: Json) -> list[Any]:
        return [_get(method["selective"], key, part) for key in keys for part, _ in _SELECTIVE]

    words = (
        "Error rate among the accepted at a coverage; AURC: the area under that curve; NLL of the "
        "accepted at 90 %."
    )
    return "Selective", words, _table(source, looks, "Selective prediction", columns, cells)


def _calibration(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    kinds = (("posterior", "posterior"), ("uncertainty", "U"))
    keys = [(part, title, key) for part, title in kinds for key in _keys(source, part)]
    if not keys:
        return None
    columns = [
        Column(t, LOWER, f"{title}, {key}") for _, title, key in keys for _, t in _CALIBRATED
    ]

    def cells(method: Json) -> list[Any]:
        return [_get(method[p], key, part) for p, _, key in keys for part, _ in _CALIBRATED]

    words = (
        "Posterior: the probabilities of the classes. U: the score itself as the probability of "
        "an error; a dash where the score is none. ECE with 15 bins of equal mass for each map "
        "that judges."
    )
    return "Calibration", words, _table(source, looks, "Calibration", columns, cells)


def _gains(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    keys = list(headlines(dict.fromkeys(_keys(source, "gains"))))
    words = (
        "The figure minus that of max-probability, from the same bootstrap samples; above 0 is "
        "better for all. Orange: the method wins, blue: it loses, the interval leaves out 0."
    )
    title = "Paired gains over max-probability"
    return (
        ("Paired gains", words, _differences(source, looks, title, "gains", keys)) if keys else None
    )


def _snap_gains(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    keys = list(headlines(dict.fromkeys(_keys(source, "snap_gains"))))
    words = (
        "What SNAP has more than each other method, from the same bootstrap samples; above 0 SNAP "
        "is better, for all figures. Orange: SNAP wins, blue: it loses, the interval leaves out 0."
    )
    markup = _differences(source, looks, "SNAP over every method", "snap_gains", keys)
    return ("SNAP against each", words, markup) if keys else None


def _differences(source: Json, looks: Looks, title: str, part: str, keys: Sequence[str]) -> str:
    columns = [
        Column(figure_words(last), HIGHER, figure_words(what), is_gain=True)
        for what, _, last in (key.rpartition(".") for key in keys)
    ]

    def cells(method: Json) -> list[Any]:
        return [_get(method[part], key) for key in keys]

    return _table(source, looks, title, columns, cells)


def _by(source: Json, looks: Looks, part: str, what: str) -> str:
    keys = sorted(_keys(source, part))
    figures = (("auroc", "AUROC"), ("aupr", "AUPR"))
    columns = [Column(_heading(key), HIGHER, t) for _, t in figures for key in keys]

    def cells(method: Json) -> list[Any]:
        return [_get(method[part], key, figure) for figure, _ in figures for key in keys]

    return _table(source, looks, f"Wrong answers by {what}", columns, cells)


def _heading(key: str) -> str:
    """Of a type or a severity."""
    return OF_ONE_SEVERITY if key == UNGRADED else key.replace("_", " ")


def _severity(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    if not _keys(source, "by_severity"):
        return None
    words = "Positive class: a wrong answer. Mean over the types of a severity."
    return "By severity", words, _by(source, looks, "by_severity", "severity")


def _type(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    if not _keys(source, "by_type"):
        return None
    words = "Positive class: a wrong answer. Mean over the severities of a type."
    return "By type", words, _by(source, looks, "by_type", "corruption type")


def _tuning(source: Json, looks: Looks) -> tuple[str, str, str] | None:
    if not any(m["tuning"] for m in _done(source)):
        return None
    columns = [Column("kind"), Column("tried"), Column("chosen"), Column("by, on dev data")]
    columns += [Column("reached"), Column("published in")]

    def cells(method: Json) -> list[Any]:
        tuning = method["tuning"]
        if tuning is None:
            return [method["kind"], "nothing to choose", "", "", None, method["source"]]
        tried = "; ".join(f"{k}: {_values(v)}" for k, v in tuning["grid"].items())
        chosen = "; ".join(f"{k} = {_value(v)}" for k, v in tuning["chosen"].items())
        return [method["kind"], tried, chosen, tuning["by"], tuning["score"], method["source"]]

    words = "Every grid, what dev data chose from it, and the dev score of the choice."
    return "Tuning", words, _table(source, looks, "Grids and choices", columns, cells)


def _values(values: Any) -> str:
    return ", ".join(map(_value, values)) if isinstance(values, list) else _value(values)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
