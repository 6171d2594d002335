"""The tables of docs/results.md, from finished runs.

    python benchmarks/results.py runs/mnist-001 runs/cifar10-001 runs/speechcmd-001
    python benchmarks/results.py runs/kws-ref-model-001 runs/pretrainedResnet-quant-001

Reads what the stages wrote, trained runs or attached ones; trains and measures nothing.
"""

import json
import sys
from pathlib import Path
from typing import Any


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


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


def attached_row(run: Path) -> list[str]:
    report = read(run / "attach" / "report.json")
    split = report["examples"]
    return [
        report["model"],
        report["data"],
        f"{split['train']:,} / {split['dev']:,} / {split['test']:,}",
        share(report["accuracy"]),
        *(share(v) for v in report["calibrate"]["accuracy_by_severity"].values()),
        ", ".join(report["taps"]),
        ", ".join(f"{e:.2f}" for e in report["mean_surprisal"].values()),
        report["calibrate"]["map"]["kind"],
    ]


def name_of(run: Path) -> str:
    if is_attached(run):
        return str(read(run / "attach" / "report.json")["model"])
    return str(read(run / "train" / "history.json")["report"]["dataset"])


def is_attached(run: Path) -> bool:
    return (run / "attach").is_dir()


def detection_rows(run: Path, scores: tuple[str, ...]) -> list[list[str]]:
    if is_attached(run):
        report = read(run / "calibrate" / "calibration.json")["report"]
    else:
        report = read(run / "quantize" / "report.json")
    errors, ood = report["detection"]["errors"], report["detection"]["ood"]
    name = name_of(run)
    rows = [
        [name, f"errors, {title}", *(three(errors[s][part]["auroc"]) for s in scores)]
        for title, part in (("pooled", "pooled"), ("per cell", "per_cell"), ("clean", "clean"))
    ]
    return rows + [
        [name, f"foreign: {foreign}", *(three(found[s]["auroc"]) for s in scores)]
        for foreign, found in ood.items()
    ]


def size_rows(run: Path) -> list[list[str]]:
    """Of every image that was built, those for boards included."""
    rows = []
    for path in sorted((run / "build").glob("*/size.json")):
        found = read(path)
        sizes = ((found["size"][k], found["size_without_heads"][k]) for k in SIZES)
        parts = [f"{whole:,} (+{whole - bare:,})" for whole, bare in sizes]
        rows.append([name_of(run), path.parent.name, *parts])
    return rows


def cost_rows(run: Path) -> list[list[str]]:
    """The latest bench of every target."""
    name = name_of(run)
    benches = sorted(p for p in (run / "bench").glob("*.json") if "-stream-" not in p.name)
    latest = {path.stem.rpartition("-")[0]: path for path in benches}
    rows = []
    for target, path in latest.items():
        found = read(path)
        sizes = {
            kind: (found["size"][kind], found["size"][kind] - found["size_without_heads"][kind])
            for kind in SIZES
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
OTHERS = ("energy", "mahalanobis-full")
SIZES = ("flash_bytes", "ram_bytes")


def table(columns: list[str], rows: list[list[str]]) -> None:
    for row in (columns, ["---"] * len(columns), *rows):
        print(f"| {' | '.join(row)} |")
    print()


def main(runs: list[Path]) -> int:
    whole = ("quantize/report.json", "attach/report.json")
    missing = [run for run in runs if not any((run / name).is_file() for name in whole)]
    if missing or not runs:
        print(__doc__ if not runs else f"{missing[0]} is not a finished run", file=sys.stderr)
        return 2
    severities = [f"{s}" for s in range(1, 6)]
    if trained := [run for run in runs if not is_attached(run)]:
        columns = ["data", "backbone", "epochs", "minutes", "waiting, %", "float, %", "int8, %"]
        table([*columns, *severities], [accuracy_row(run) for run in trained])
        rows = [row for run in trained for row in detection_rows(run, SCORES)]
        table(["data", "AUROC of", *SCORES], rows)
    if attached := [run for run in runs if is_attached(run)]:
        columns = ["model", "data", "heads / map / test", "accuracy, %", *severities]
        table([*columns, "taps", "E[e]", "map"], [attached_row(run) for run in attached])
        rows = [row for run in attached for row in detection_rows(run, SCORES + OTHERS)]
        table(["model", "AUROC of", *SCORES, *OTHERS], rows)
        rows = [row for run in attached for row in size_rows(run)]
        table(["model", "target", "flash, B", "RAM, B"], rows)
    table(
        ["", "target", "MMAC", "flash, B", "RAM, B", "instructions", "bit-exact"],
        [row for run in runs for row in cost_rows(run)],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
