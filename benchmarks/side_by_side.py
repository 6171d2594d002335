"""The tables of docs/results.md that hold all data sets beside each other, one for each question of
the paper, from what eval left in runs.

python benchmarks/side_by_side.py runs/mnist-001 runs/cifar10-001 ...

Of a trained run the float model counts, of an attached one int8; runs of the same data set and
model are seeds, of which means are shown.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from methods import by_method, is_shown, mean_of, plain, read, within

Methods = dict[str, list[dict[str, Any]]]
Cell = Callable[[list[dict[str, Any]]], str]


def main() -> None:
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in map(Path, sys.argv[1:]):
        report = read(run / "eval" / "eval.json")
        name = f"{report['dataset']}, {Path(report['model']).stem}"
        groups.setdefault(name, []).append(next(iter(report["sources"].values())))
    if not groups:
        sys.exit("usage: python benchmarks/side_by_side.py RUN...")
    judged = {name: by_method(reports) for name, reports in groups.items()}
    every = [m["name"] for m in next(iter(groups.values()))[0]["methods"] if is_shown(m["name"])]
    print("AUROC of errors, pooled\n")
    _table(every, judged, lambda m: within([f["errors"]["pooled"]["auroc"] for f in m]))
    print("AUROC of errors, per cell / clean\n")
    _table(
        every,
        judged,
        lambda m: " / ".join(
            plain([f["errors"][k]["auroc"] for f in m]) for k in ("per_cell", "clean")
        ),
    )
    print("AUROC of foreign inputs\n")
    _table(every, judged, lambda m: " / ".join(_foreign(m)))
    print("events: AUPRC\n")
    _table(every, judged, lambda m: within([f["events"]["auprc"] for f in m]))
    print("risk at 90 % coverage of all test data / NLL clean / ECE clean / ECE corrupted\n")
    _table(every, judged, _decisions)


def _foreign(methods: list[dict[str, Any]]) -> list[str]:
    return [
        f"{name} {plain([f['ood'][name]['auroc'] for f in methods])}" for name in methods[0]["ood"]
    ]


def _decisions(methods: list[dict[str, Any]]) -> str:
    parts = (
        [f["selective"]["all"]["risk_90"] for f in methods],
        *([f["posterior"]["clean"][k] for f in methods] for k in ("nll", "ece")),
        [f["posterior"]["corrupted"]["ece"] for f in methods],
    )
    return " / ".join(plain(part) for part in parts)


def _table(every: list[str], judged: dict[str, Methods], cell: Cell) -> None:
    print(f"| method | {' | '.join(judged)} |\n|{'---|' * (len(judged) + 1)}")
    for name in every:
        cells = [cell(found[name]) if name in found else "not run" for found in judged.values()]
        print(f"| {name} | {' | '.join(cells)} |")
    accuracy = [mean_of([m["accuracy"] for m in f["max-probability"]]) for f in judged.values()]
    print(f"| *accuracy of the base model* | {' | '.join(accuracy)} |\n")


if __name__ == "__main__":
    main()
