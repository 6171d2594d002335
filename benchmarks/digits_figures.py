"""The figures of docs/figures.md: the digits recipe with three seeds, against what we aim at.

    make figures                      # about 6 minutes on 2 cores
    python benchmarks/digits_figures.py --seeds 13,17,23 --runs-dir runs/figures

Everything but the instruction counts depends on floating-point training, so digits in the last
place may differ between machines.
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer

from snapcli import console
from snapcli.assets import asset_dir
from snapcli.config import load_recipe
from snapcli.runs import create_run
from snapcli.stages.pipeline import PipelineReport, pipeline


@dataclass(frozen=True)
class Figure:
    """value of one run; the mean over the seeds must satisfy `goal`."""

    name: str
    value: Callable[[PipelineReport], float]
    form: str
    goal: str
    met: Callable[[float], bool]


def _gain(part: str) -> Callable[[PipelineReport], float]:
    def value(report: PipelineReport) -> float:
        errors = report.quantize.detection.errors
        snap, plain = (getattr(errors[s], part).auroc for s in ("U", "max-probability"))
        return float(snap - plain)

    return value


def _auroc(score: str, part: str) -> Callable[[PipelineReport], float]:
    return lambda report: getattr(report.quantize.detection.errors[score], part).auroc


def _ood(name: str) -> Callable[[PipelineReport], float]:
    return lambda report: report.quantize.detection.ood[name]["F"].auroc


def _bench(report: PipelineReport) -> float:
    assert report.bench is not None
    assert report.bench.heads_overhead is not None
    return 100 * report.bench.heads_overhead


def _exact(report: PipelineReport) -> float:
    assert report.bench is not None
    return float(report.bench.bit_exact)


def _always(_: float) -> bool:
    return True


FIGURES = [
    Figure(
        "accuracy, clean test, float, %",
        lambda r: 100 * r.quantize.drift.float_accuracy,
        ".2f",
        ">= 97",
        lambda v: v >= 97,
    ),
    Figure(
        "accuracy, int8 minus float, points",
        lambda r: 100 * (r.quantize.drift.int8_accuracy - r.quantize.drift.float_accuracy),
        "+.2f",
        ">= -1",
        lambda v: v >= -1,
    ),
    *(
        Figure(f"AUROC of errors, {title}, {name}", _auroc(score, part), ".3f", "", _always)
        for part, title in (("pooled", "pooled"), ("per_cell", "per cell"), ("clean", "clean"))
        for score, name in (("U", "SNAP"), ("max-probability", "max-probability"))
    ),
    Figure("  gain, pooled", _gain("pooled"), "+.3f", ">= +0.05", lambda v: v >= 0.05),
    Figure("  gain, per cell", _gain("per_cell"), "+.3f", ">= 0", lambda v: v >= 0),
    Figure("  gain, clean", _gain("clean"), "+.3f", ">= -0.005", lambda v: v >= -0.005),
    *(
        Figure(
            f"AUROC of foreign inputs, {name}, F", _ood(name), ".3f", ">= 0.95", lambda v: v >= 0.95
        )
        for name in ("photos", "photos-matched", "letters")
    ),
    Figure(
        "Spearman of S, int8 to float",
        lambda r: r.quantize.drift.spearman_all,
        ".3f",
        ">= 0.99",
        lambda v: v >= 0.99,
    ),
    Figure(
        "Spearman of S, clean alone",
        lambda r: r.quantize.drift.spearman_clean,
        ".3f",
        ">= 0.97",
        lambda v: v >= 0.97,
    ),
    Figure("bit-exact on the emulator, inputs", _exact, ".0f", ">= 500", lambda v: v >= 500),
    Figure("monitor: instructions, %", _bench, "+.2f", "<= 5", lambda v: v <= 5),
    Figure(
        "monitor: flash, bytes",
        lambda r: r.flash.size.flash_bytes - r.flash.size_without_heads.flash_bytes,
        ",.0f",
        "<= 16,384",
        lambda v: v <= 16384,
    ),
    Figure(
        "monitor: RAM, bytes",
        lambda r: r.flash.size.ram_bytes - r.flash.size_without_heads.ram_bytes,
        ",.0f",
        "<= 1,024",
        lambda v: v <= 1024,
    ),
]


def _help_seconds() -> float:
    """The best of three: what the program takes, not what the machine happens to do."""
    command = [sys.executable, "-m", "snapcli", "--help"]
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return min(times)


def main(
    seeds: Annotated[str, typer.Option(help="Seeds, with commas.")] = "13,17,23",
    runs_dir: Annotated[Path, typer.Option(help="Where the runs go.")] = Path("runs/figures"),
) -> None:
    chosen = [int(s) for s in seeds.split(",")]
    reports, seconds = [], []
    for seed in chosen:
        recipe = load_recipe(asset_dir("pipelines") / "digits.toml", [f"train.seed={seed}"])
        started = time.perf_counter()
        reports.append(pipeline(create_run(runs_dir, "digits"), recipe, console.progress))
        seconds.append(time.perf_counter() - started)
        console.note(f"seed {seed}: {seconds[-1]:.0f} s")
    rows = []
    failed = 0
    for figure in FIGURES:
        values = [float(figure.value(r)) for r in reports]
        # Where a run makes no error, there is nothing to detect.
        average = mean([v for v in values if not math.isnan(v)])
        failed += not figure.met(average)
        verdict = figure.goal and ("met" if figure.met(average) else "MISSED")
        each = ("-" if math.isnan(v) else format(v, figure.form) for v in values)
        rows.append((figure.name, *each, format(average, figure.form), figure.goal, verdict))
    for name, values, goal, limit in (
        ("whole pipeline, seconds", seconds, "< 300", 300.0),
        ("snap --help, seconds", [_help_seconds()] * len(chosen), "< 0.5", 0.5),
    ):
        met = mean(values) < limit
        failed += not met
        each = (f"{v:.2f}" for v in values)
        rows.append((name, *each, f"{mean(values):.2f}", goal, "met" if met else "MISSED"))
    names = (f"seed {s}" for s in chosen)
    console.table("digits", ("figure", *names, "mean", "goal", ""), rows)
    raise typer.Exit(7 if failed else 0)


if __name__ == "__main__":
    typer.run(main)
