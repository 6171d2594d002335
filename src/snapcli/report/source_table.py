"""Float, int8 and device beside each other."""

from collections.abc import Callable

from snapcli.metrics.bootstrap import Interval
from snapcli.report.methods import Looks, done, is_ours
from snapcli.report.table import HIGHER, LOWER, Column, Row, table
from snapcli.results.eval import EvalReport, MethodFigures

_Figure = Callable[[MethodFigures], Interval | float | None]


def _risk(method: MethodFigures) -> Interval | None:
    everything = method.selective.get("all")
    return everything.risk_90 if everything else None


# (group, better, of a method that ran)
_HEADLINES: tuple[tuple[str, str, _Figure], ...] = (
    ("accuracy", HIGHER, lambda m: m.accuracy),
    ("wrong answers: AUROC, pooled", HIGHER, lambda m: m.errors.pooled.auroc if m.errors else None),
    (
        "wrong answers: AUROC, per cell",
        HIGHER,
        lambda m: m.errors.per_cell.auroc if m.errors else None,
    ),
    ("events: frame AUPRC", HIGHER, lambda m: m.events.auprc if m.events else None),
    ("risk at 90 %, all data", LOWER, _risk),
)


def source_table(evaluation: EvalReport, looks: Looks) -> str:
    sources = evaluation.sources
    # Of a method that ran nowhere, the first reason.
    why = {m.name: m.why for s in reversed(sources.values()) for m in s.methods}
    ran = {name: {m.name: m for m in done(source)} for name, source in sources.items()}
    columns = [Column("method")]
    columns += [Column(s, better, group) for group, better, _ in _HEADLINES for s in sources]
    rows = []
    for name in dict.fromkeys(m.name for s in sources.values() for m in s.methods):
        look = f"method {looks(name)}"
        if not any(name in methods for methods in ran.values()):
            rows.append(Row([name], why[name], look, is_ours(name)))
            continue
        cells = [
            figure(ran[s][name]) if name in ran[s] else None
            for _, _, figure in _HEADLINES
            for s in sources
        ]
        rows.append(Row([name, *cells], "", look, is_ours(name)))
    return table("Sources beside each other", columns, rows, "sources")
