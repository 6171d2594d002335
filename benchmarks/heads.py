"""Every head and every option on one data set: drift of int8, gain, cost.

    make heads                                      # digits, about 10 minutes on 2 cores
    python benchmarks/heads.py --only gaussian,huber
    python benchmarks/heads.py --recipe pipelines/mnist-quick.toml --only gaussian,student-t

Heads that compute in integers must follow the float model: Spearman of S at least 0.99 over clean
and corrupted test data, pooled AUROC and AUPRC of errors within 0.01. An option of ours is off
unless it wins on dev: the last columns say what it gains there over the first of those that are
asked for, by default the plain Gaussian.
"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.assets import asset_dir
from snapcli.config import load_recipe
from snapcli.runs import create_run
from snapcli.stages.pipeline import PipelineReport, pipeline

GAUSSIAN = "gaussian"
VARIANTS: dict[str, tuple[str, ...]] = {
    GAUSSIAN: (),
    "student-t": ("train.head=student-t",),
    "student-t, nu learned": ("train.head=student-t", "train.learn_nu=true"),
    "huber": ("train.head=huber",),
    "minimal": ("train.head=minimal",),
    "lowrank": ("train.head=lowrank",),
    "mixture": ("train.head=mixture",),
    "class-mean": ("train.class_mean=true",),
    "mean-deviation": ("train.statistics=mean-deviation",),
    "gated-taps": ("calibrate.map=gated-taps",),
    "qat": ("train.qat=0.2",),
}
# Computes in single precision on the device; all others in integers.
FLOAT_HEADS = ("lowrank",)
# One map for all, so that only the head differs; instructions against those of plain C.
SAME = ("calibrate.map=gated", "export-c.kernels=reference")


def drift(report: PipelineReport) -> tuple[float, float, float]:
    """Spearman of S; by how much AUROC and AUPRC of errors, pooled, change."""
    exact, device = (r.detection.errors["U"].pooled for r in (report.calibrate, report.quantize))
    auroc, auprc = device.auroc - exact.auroc, device.auprc - exact.auprc
    return report.quantize.drift.spearman_all, auroc, auprc


def follows(name: str, figures: tuple[float, float, float]) -> bool:
    spearman, auroc, auprc = figures
    return name in FLOAT_HEADS or (spearman >= 0.99 and abs(auroc) <= 0.01 and abs(auprc) <= 0.01)


def main(
    recipe: Annotated[Path | None, typer.Option(help="A recipe; digits.")] = None,
    only: Annotated[str, typer.Option(help="Variants, with commas.")] = "",
    runs_dir: Annotated[Path, typer.Option(help="Where the runs go.")] = Path("runs/heads"),
) -> None:
    chosen = [n.strip() for n in only.split(",")] if only else list(VARIANTS)
    if unknown := [name for name in chosen if name not in VARIANTS]:
        raise typer.BadParameter(f"{unknown[0]}; known: {', '.join(VARIANTS)}")
    rows, missed, plain = [], 0, None
    for name in chosen:
        # Of two values for one option the later counts.
        overrides = [*SAME, *VARIANTS[name]]
        made = load_recipe(recipe or asset_dir("pipelines") / "digits.toml", overrides)
        report = pipeline(create_run(runs_dir, name.split(",")[0]), made, console.progress)
        plain = plain or report
        assert report.bench is not None
        assert report.bench.heads_overhead is not None
        figures = drift(report)
        missed += not follows(name, figures)
        with_heads, without = report.flash.size, report.flash.size_without_heads
        gains = []
        for part in ("pooled", "per_cell"):
            here, there = (
                getattr(r.quantize.dev[r.quantize.map["kind"]], part).auroc for r in (report, plain)
            )
            gains.append(f"{here - there:+.3f}")
        rows.append(
            (
                name,
                f"{100 * report.quantize.drift.int8_accuracy:.1f}",
                f"{figures[0]:.3f}",
                *(f"{v:+.3f}" for v in figures[1:]),
                "" if name in FLOAT_HEADS else "met" if follows(name, figures) else "MISSED",
                f"{100 * report.bench.heads_overhead:+.2f}",
                f"{with_heads.flash_bytes - without.flash_bytes:,}",
                f"{with_heads.ram_bytes - without.ram_bytes:,}",
                f"{report.bench.bit_exact}/{report.bench.inputs}",
                *gains,
            )
        )
    header = ("head", "accuracy %", "Spearman", "AUROC", "AUPRC", "goal")
    header += ("instructions %", "flash B", "RAM B", "bit-exact", "dev pooled", "dev per cell")
    console.table("heads", header, rows)
    raise typer.Exit(7 if missed else 0)


if __name__ == "__main__":
    typer.run(main)
