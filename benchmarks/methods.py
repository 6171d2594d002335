"""The tables of docs/results.md: every method on every data set, from what eval, cost and ablate
left in runs.

python benchmarks/methods.py [--all] runs/mnist-001 runs/mnist-002 runs/cifar10-001 ...

--all: every map and head of SNAP as well.
Runs of the same data set and model are seeds of one experiment: figures and the ends of their
intervals are means over them.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.results.eval import SCHEMA

Figure = dict[str, float | None]
# Of the maps and heads of SNAP, those of the paper.
_PAPERS = ("snap", "snap-deployed", "snap-s", "snap-logistic", "snap-isotonic")


def main() -> None:
    groups: dict[tuple[str, str], list[Path]] = {}
    for name in (n for n in sys.argv[1:] if n != "--all"):
        report = read(Path(name) / "eval" / "eval.json")
        groups.setdefault((report["dataset"], Path(report["model"]).stem), []).append(Path(name))
    if not groups:
        sys.exit("usage: python benchmarks/methods.py RUN...")
    for (dataset, model), runs in groups.items():
        reports = [read(run / "eval" / "eval.json") for run in runs]
        seeds = ", ".join(str(r["seed"]) for r in reports)
        print(f"\n### {dataset}, {model}\n")
        for source in reports[0]["sources"]:
            found = [r["sources"][source] for r in reports if source in r["sources"]]
            _source(source, found, seeds)
        for run in runs[:1]:
            _costs(run)
            _ablations(run)


def _source(source: str, reports: list[dict[str, Any]], seeds: str) -> None:
    examples = ", ".join(f"{n:,} {what}" for what, n in reports[0]["examples"].items())
    accuracy = " / ".join(
        f"{100 * np.mean([r['accuracy'][k] for r in reports]):.1f}" for k in reports[0]["accuracy"]
    )
    print(f"**{source}**, seed {seeds}; {examples}; accuracy clean / by severity: {accuracy} %\n")
    rows = by_method(reports)
    foreign = [k for k in reports[0]["examples"] if k not in ("clean", "corrupted")]
    _table(
        (
            *("accuracy", "AUROC pooled", "per cell", "clean", "AUPR", "FPR@95"),
            *(f"AUROC {name}" for name in foreign),
        ),
        rows,
        lambda m: [
            mean_of([f["accuracy"] for f in m]),
            within([f["errors"]["pooled"]["auroc"] for f in m]),
            *(plain([f["errors"][k]["auroc"] for f in m]) for k in ("per_cell", "clean")),
            *(plain([f["errors"]["pooled"][k] for f in m]) for k in ("aupr", "fpr95")),
            *(plain([f["ood"][name]["auroc"] for f in m]) for name in foreign),
        ],
    )
    _table(
        (
            *("events", "event AUPRC", "delay", "false alarms", "risk@90", "AURC"),
            *("NLL@90", "NLL", "ECE", "ECE corrupted"),
        ),
        {name: m for name, m in rows.items() if all(f["events"] for f in m)},
        lambda m: [
            str(sum(f["events"]["events"] for f in m)),
            within([f["events"]["auprc"] for f in m]),
            plain([f["events"]["delay"] for f in m], 0),
            mean_of([f["events"]["false_positives"] for f in m]),
            *(plain([f["selective"]["all"][k] for f in m]) for k in ("risk_90", "aurc", "nll_90")),
            *(plain([f["posterior"]["clean"][k] for f in m]) for k in ("nll", "ece")),
            plain([f["posterior"].get("corrupted", {}).get("ece", {}) for f in m]),
        ],
    )
    print(
        "snap against each, paired, positive: snap is better (bold: the interval is on one side)\n"
    )
    names = ("errors.pooled.auroc", "errors.per_cell.auroc", "errors.clean.auroc")
    others = (*(f"ood.{name}.auroc" for name in foreign), "events.auprc", "selective.all.risk_90")
    _table(
        tuple(_short(name) for name in (*names, *others)),
        {name: m for name, m in rows.items() if name != "snap"},
        lambda m: [
            _verdict([f["snap_gains"].get(name, {}) for f in m]) for name in (*names, *others)
        ],
    )
    not_run = {m["name"]: m["why"] for r in reports for m in r["methods"] if m["status"] != "done"}
    for why in dict.fromkeys(not_run.values()):
        print(f"not run ({why}): {', '.join(n for n, w in not_run.items() if w == why)}\n")


def _short(name: str) -> str:
    return name.removesuffix(".auroc").replace("errors.", "").replace("selective.all.", "")


def is_shown(name: str) -> bool:
    return name in _PAPERS or not name.startswith("snap")


def by_method(reports: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        for method in report["methods"]:
            wanted = "--all" in sys.argv or is_shown(method["name"])
            if wanted and method["status"] == "done":
                found.setdefault(method["name"], []).append(method)
    return {name: methods for name, methods in found.items() if len(methods) == len(reports)}


def _costs(run: Path) -> None:
    path = run / "cost" / "cost.json"
    if not path.is_file():
        return
    for target in read(path)["targets"]:
        print(f"cost on `{target['target']}`\n")
        print("| method | fits | flash, B | RAM, B | instructions |\n|---|---|---|---|---|")
        for row in target["rows"]:
            numbers = (row["flash_bytes"], row["ram_bytes"], row["instructions"])
            cells = ("-" if n is None else f"{n:,}" for n in numbers)
            said = row["status"] if not row["why"] else f"{row['status']}: {row['why']}"
            print(f"| {row['method']} | {said} | {' | '.join(cells)} |")
        print()


def _ablations(run: Path) -> None:
    for path in sorted((run / "ablate").glob("*/*.json")):
        table = read(path)
        titles = [column["title"] for column in table["columns"]]
        print(f"{table['title']}\n\n| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
        for row in table["rows"]:
            print(f"| {' | '.join(_cell(row.get(title)) for title in titles)} |")
        print()


def _cell(value: Any) -> str:
    """Of a table of ablations: a word, a number, an interval or nothing."""
    match value:
        case None:
            return "-"
        case dict():
            return within([value])
        case float():
            return f"{value:.3f}"
        case int():
            return f"{value:,}"
    return str(value)


def _table(
    columns: Iterable[str],
    rows: dict[str, list[dict[str, Any]]],
    cells: Callable[[list[dict[str, Any]]], list[str]],
) -> None:
    names = list(columns)
    if not names or not rows:
        return
    print(f"| method | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for name, methods in rows.items():
        print(f"| {name} | {' | '.join(cells(methods))} |")
    print()


def mean_of(values: list[float | None], digits: int = 3) -> str:
    known = [v for v in values if v is not None]
    return f"{np.mean(known):.{digits}f}" if known else "-"


def plain(figures: list[Figure], digits: int = 3) -> str:
    return mean_of([f.get("value") for f in figures], digits)


def within(figures: list[Figure]) -> str:
    value, low, high = (mean_of([f[k] for f in figures]) for k in ("value", "low", "high"))
    return value if low == "-" else f"{value} [{low}, {high}]"


def _verdict(figures: list[Figure]) -> str:
    if any(f.get("low") is None for f in figures):
        return "-"
    value, low, high = (np.mean([f[k] for f in figures]) for k in ("value", "low", "high"))
    said = f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"
    return f"**{said}**" if low > 0 or high < 0 else said


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    if path.name == "eval.json" and found["schema"] != SCHEMA:
        sys.exit(f"{path} was made by another version of snap: run snap eval --anew")
    return found


if __name__ == "__main__":
    main()
