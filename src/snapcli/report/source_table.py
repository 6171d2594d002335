"""Float, int8 and device beside each other."""

from collections.abc import Mapping
from typing import Any

from snapcli.report.methods import Looks, is_ours
from snapcli.report.table import HIGHER, LOWER, Column, Row, table

# (group, better, where it stands in a method's figures)
_HEADLINES = (
    ("accuracy", HIGHER, ("accuracy",)),
    ("wrong answers: AUROC, pooled", HIGHER, ("errors", "pooled", "auroc")),
    ("wrong answers: AUROC, per cell", HIGHER, ("errors", "per_cell", "auroc")),
    ("events: frame AUPRC", HIGHER, ("events", "auprc")),
    ("risk at 90 %, all data", LOWER, ("selective", "all", "risk_90")),
)


def source_table(evaluation: Mapping[str, Any], looks: Looks) -> str:
    sources = evaluation["sources"]
    names = list(dict.fromkeys(m["name"] for s in sources.values() for m in s["methods"]))
    by_name = {s: {m["name"]: m for m in sources[s]["methods"]} for s in sources}
    columns = [Column("method")]
    columns += [Column(s, better, group) for group, better, _ in _HEADLINES for s in sources]
    rows = []
    for name in names:
        cells = [
            _figure(by_name[s].get(name), where) for _, _, where in _HEADLINES for s in sources
        ]
        look = f"method {looks(name)}"
        ran = any(by_name[s].get(name, {}).get("status") == "done" for s in sources)
        why = "" if ran else next(m[name]["why"] for m in by_name.values() if name in m)
        rows.append(Row([name, *cells] if ran else [name], why, look, is_ours(name)))
    return table("Sources beside each other", columns, rows, "sources")


def _figure(method: Mapping[str, Any] | None, where: tuple[str, ...]) -> Any:
    value: Any = method if method and method["status"] == "done" else None
    for key in where:
        value = value.get(key) if value is not None else None
    return value
