"""show: what a run holds, its figures, what is stale, and what to run next."""

from dataclasses import dataclass
from typing import Any

from snapcli.runs import STAGES, Run, StageState, read_json


@dataclass(frozen=True)
class ShowReport:
    run: str
    root: str
    states: tuple[StageState, ...]
    figures: dict[str, str]
    next_command: str | None


def show(run: Run) -> ShowReport:
    recorded = run.records()
    names: list[str] = []
    for stage in STAGES:
        found = [name for name in recorded if name.partition("/")[0] == stage]
        names += sorted(found) or [stage]
    states = tuple(run.state(name) for name in names)
    unfinished = next((s for s in states if s.status != "done"), None)
    return ShowReport(
        run=run.name,
        root=str(run.root),
        states=states,
        figures={
            k: v for s in states if s.status == "done" for k, v in _figures(run, s.stage).items()
        },
        next_command=run.remedy(unfinished.origin) if unfinished else None,
    )


def _figures(run: Run, stage: str) -> dict[str, str]:
    """The headline figures of a finished stage."""
    kind, _, target = stage.partition("/")
    if kind == "train":
        report = read_json(run.path("train/history.json"))["report"]
        taps = ", ".join(f"{k} {v:.2f}" for k, v in report["mean_surprisal"].items())
        return {
            "float accuracy, clean test": _percent(report["test_accuracy"]),
            "E[e] on clean dev": taps,
        }
    if kind == "calibrate":
        report = read_json(run.path("calibrate/calibration.json"))["report"]
        return {"float AUROC of errors, U / max-probability": _pooled(report)}
    if kind == "quantize":
        report = read_json(run.path("quantize/report.json"))
        drift = report["drift"]
        return {
            "int8 accuracy, clean test": _percent(drift["int8_accuracy"]),
            "Spearman of S, int8 to float": f"{drift['spearman_all']:.3f}",
            "int8 AUROC of errors, U / max-probability": _pooled(report),
        }
    if kind == "flash":
        size = read_json(run.path(f"build/{target}/size.json"))["size"]
        return {f"{target}: flash / RAM": f"{size['flash_bytes']:,} / {size['ram_bytes']:,} B"}
    if kind == "bench":
        record = run.record(stage)
        assert record is not None
        report = read_json(run.path(next(iter(record["outputs"]))))
        overhead = report["heads_overhead"]
        return {
            f"{target}: {report['counter']}, mean": f"{report['timing']['mean']:,.0f}"
            + (f" (heads {100 * overhead:.2f} %)" if overhead is not None else ""),
            f"{target}: bit-exact": f"{report['bit_exact']} of {report['inputs']}",
        }
    return {}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _pooled(report: dict[str, Any]) -> str:
    errors = report["detection"]["errors"]
    return " / ".join(f"{errors[s]['pooled']['auroc']:.3f}" for s in ("U", "max-probability"))
