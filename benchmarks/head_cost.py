"""What Gaussian heads at M and P add to the backbones: instructions, flash, RAM, for two ranks.

    python benchmarks/head_cost.py                     # the kernels `snap`, about a minute
    python benchmarks/head_cost.py --kernels cmsis-nn

Costs do not depend on what a network has learned: the weights are random, no data are needed.
Flash is what the compiler says of kernels and constants; *parameters* is the part of it that the
paper counts, weights and biases of projector and heads. A rank is cut to the width of its tap, so
that resnet8 has one row.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

from snapcli import console
from snapcli.config import SNAP, TrainOptions
from snapcli.fixedpoint import HeadS8
from snapcli.graph.reader import read_tflite
from snapcli.heads.head import tapped_blocks
from snapcli.models import load_backbone
from snapcli.models.attached import AttachedHeads
from snapcli.models.convert import convert_int8
from snapcli.models.tensorflow import require_tensorflow
from snapcli.monitor.build import build_body
from snapcli.pricing.heads import measure
from snapcli.targets import load_target

SHAPES = {"dscnn": (98, 40, 1), "resnet8": (32, 32, 3)}
# Bytes of flash: the paper's 28 KB for rank 64, half of that for half the rank.
RANKS = {32: 14 * 1024, 64: 28 * 1024}
CLASSES = 10
SHARE_GOAL, SHARE_STRETCH = 0.02, 0.01


def parameters(head: HeadS8) -> int:
    arrays = (head.projector, head.mean_weights, head.xi_weights, head.xi_bias, head.after.offset)
    return sum(a.nbytes for a in arrays)


@dataclass(frozen=True)
class HeadCost:
    """Of the heads at M and P; share: of the backbone's instructions. limit: bytes of flash."""

    backbone: str
    rank: int
    share: float
    flash_bytes: int
    limit: int
    arena_bytes: int
    parameter_bytes: int


def measure_heads(kernels: str = SNAP, target: str = "qemu-m4") -> list[HeadCost]:
    require_tensorflow()
    found = []
    for name, shape in SHAPES.items():
        backbone = load_backbone(name)
        model = backbone.build(shape, CLASSES)
        x = np.random.default_rng(0).normal(0, 1, (20, *shape)).astype(np.float32)
        for rank, limit in RANKS.items():
            taps = backbone.taps(("M", "P"), (rank,))
            heads = AttachedHeads(taps, model, CLASSES, TrainOptions()).fitted()
            if max(len(h.projector) for h in heads) < rank:
                continue
            graph = read_tflite(convert_int8(model, tapped_blocks(heads), x))
            body = build_body(graph, heads, x)
            inputs = graph.quantize(x[:2])
            prices = measure(body, inputs, load_target(target), kernels)
            cost = prices.of(body, [0, 1])
            weights = sum(parameters(h.residual) for h in body.heads)
            share = cost.instructions / prices.backbone
            sizes = (cost.flash_bytes, limit, prices.arena_bytes, weights)
            found.append(HeadCost(name, rank, share, *sizes))
    return found


def main(
    kernels: Annotated[str, typer.Option(help="snap, reference or cmsis-nn.")] = SNAP,
    target: Annotated[str, typer.Option(help="Whose compiler and core.")] = "qemu-m4",
) -> None:
    rows, missed = [], 0
    for cost in measure_heads(kernels, target):
        goals = {
            f"{100 * cost.share:.2f} % <= {100 * SHARE_GOAL:.0f} %": cost.share <= SHARE_GOAL,
            f"{cost.flash_bytes:,} B <= {cost.limit:,} B": cost.flash_bytes <= cost.limit,
            f"{cost.arena_bytes:,} B <= 1,024 B": cost.arena_bytes <= 1024,
        }
        missed += not all(goals.values())
        rows.append(
            (
                cost.backbone,
                str(cost.rank),
                *(f"{text}: {'met' if ok else 'MISSED'}" for text, ok in goals.items()),
                f"{cost.parameter_bytes:,} B",
            )
        )
    columns = ("backbone", "rank", "instructions", "flash", "RAM", "parameters alone")
    console.table(f"heads at M and P, {kernels}", columns, rows)
    raise typer.Exit(7 if missed else 0)


if __name__ == "__main__":
    typer.run(main)
