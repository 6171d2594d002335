"""The tables of docs/results.md, from finished runs.

    python benchmarks/results.py runs/mnist-001 runs/cifar10-001 runs/speechcmd-001

Reads what the stages wrote; trains and measures nothing.
"""

import json
import sys
from pathlib import Path
from typing import Any


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def share(value: float) -> str:
    return f"{100 * value:.1f}"


def three(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def accuracy_row(run: Path) -> list[str]:
    trained = read(run / "train" / "history.json")["report"]
    time = read(run / "train" / "timing.json")
    report = read(run / "quantize" / "report.json")
    drift = report["drift"]
    by_severity = [share(v) for v in report["accuracy_by_severity"].values()]
    return [
        trained["dataset"],
        trained["backbone"],
        f"{trained['epochs']}",
        f"{time['seconds'] / 60:.0f}",
        share(time["waited_share"]),
        share(drift["float_accuracy"]),
        share(drift["int8_accuracy"]),
        *by_severity,
    ]


def detection_rows(run: Path) -> list[list[str]]:
    report = read(run / "quantize" / "report.json")
    errors, ood = report["detection"]["errors"], report["detection"]["ood"]
    name = read(run / "train" / "history.json")["report"]["dataset"]
    rows = [
        [name, f"errors, {title}", *(three(errors[s][part]["auroc"]) for s in SCORES)]
        for title, part in (("pooled", "pooled"), ("per cell", "per_cell"), ("clean", "clean"))
    ]
    return rows + [
        [name, f"foreign: {foreign}", *(three(found[s]["auroc"]) for s in SCORES)]
        for foreign, found in ood.items()
    ]


def cost_rows(run: Path) -> list[list[str]]:
    """The latest bench of every target."""
    name = read(run / "train" / "history.json")["report"]["dataset"]
    benches = sorted(p for p in (run / "bench").glob("*.json") if "-stream-" not in p.name)
    latest = {path.stem.rpartition("-")[0]: path for path in benches}
    rows = []
    for target, path in latest.items():
        found = read(path)
        sizes = {
            kind: (found["size"][kind], found["size"][kind] - found["size_without_heads"][kind])
            for kind in ("flash_bytes", "ram_bytes")
        }
        rows.append(
            [
                name,
                target,
                f"{found['macs'] / 1e6:.2f}",
                *(f"{whole:,} (+{heads:,})" for whole, heads in sizes.values()),
                f"{found['timing']['mean']:,.0f} (+{100 * found['heads_overhead']:.2f} %)",
                f"{found['bit_exact']} of {found['inputs']}",
            ]
        )
    return rows


SCORES = ("U", "S", "max-probability")


def table(columns: list[str], rows: list[list[str]]) -> None:
    for row in (columns, ["---"] * len(columns), *rows):
        print(f"| {' | '.join(row)} |")
    print()


def main(runs: list[Path]) -> int:
    missing = [run for run in runs if not (run / "quantize" / "report.json").is_file()]
    if missing or not runs:
        print(__doc__ if not runs else f"{missing[0]} is not a finished run", file=sys.stderr)
        return 2
    severities = [f"{s}" for s in range(1, 6)]
    table(
        ["data", "backbone", "epochs", "minutes", "waiting, %", "float, %", "int8, %", *severities],
        [accuracy_row(run) for run in runs],
    )
    table(["data", "AUROC of", *SCORES], [row for run in runs for row in detection_rows(run)])
    table(
        ["data", "target", "MMAC", "flash, B", "RAM, B", "instructions", "bit-exact"],
        [row for run in runs for row in cost_rows(run)],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
