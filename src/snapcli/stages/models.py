"""models: what every backbone costs, from the compiler."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapcli.config import ExportOptions
from snapcli.emit import build_program
from snapcli.errors import ConfigError, UsageError, suggestion
from snapcli.graph import read_tflite
from snapcli.models import BACKBONES
from snapcli.models.convert import convert_int8
from snapcli.models.tensorflow import require_tensorflow
from snapcli.pricing.kernel_set import kernel_set
from snapcli.pricing.memory import check_fit, measured_flash, our_firmware
from snapcli.progress import OnProgress, silent
from snapcli.targets import load_target

SCHEMA = 1
TARGETS = ("small-mcu", "big-mcu")
# What each was made for: input shape and classes.
_MADE_FOR = {
    "dscnn-digits": ((16, 16, 1), 10),
    "cnn-mnist": ((28, 28, 1), 10),
    "resnet8": ((32, 32, 3), 10),
    "dscnn": ((98, 40, 1), 12),
    "mobilenetv2": ((64, 64, 3), 100),
}


@dataclass(frozen=True)
class BackboneCost:
    """Of the backbone alone, in bytes; fits: with the firmware and the stack of the target."""

    flash_bytes: int
    fits: bool


@dataclass(frozen=True)
class ModelView:
    """letters: the paper's names of tap depths; arena_bytes: input, output and scratch."""

    name: str
    input_shape: tuple[int, int, int]
    classes: int
    parameters: int
    macs: int
    arena_bytes: int
    blocks: tuple[str, ...]
    letters: dict[str, str]
    targets: dict[str, BackboneCost]


def models(
    names: Sequence[str] = (),
    options: ExportOptions | None = None,
    on_progress: OnProgress = silent,
) -> tuple[ModelView, ...]:
    """Sizes do not depend on the weights: these are random, the ranges those of random inputs."""
    for name in names:
        if name not in BACKBONES:
            raise UsageError(f"unknown backbone '{name}'", suggestion(name, BACKBONES))
    require_tensorflow()
    chosen = list(names) or list(BACKBONES)
    views = []
    for i, name in enumerate(chosen):
        on_progress(i, len(chosen), name)
        views.append(_measured(name, options or ExportOptions()))
    on_progress(len(chosen), len(chosen), "")
    return tuple(views)


def _measured(name: str, options: ExportOptions) -> ModelView:
    backbone, (shape, classes) = BACKBONES[name], _MADE_FOR[name]
    model = backbone.build(shape, classes)
    samples = np.random.default_rng(0).normal(size=(4, *shape)).astype(np.float32)
    graph = read_tflite(convert_int8(model, (), samples))
    kernels, library = kernel_set(options.kernels, None)
    program = build_program(graph, None, kernels)
    costs = {}
    for target in map(load_target, TARGETS):
        with tempfile.TemporaryDirectory() as folder:
            flash = measured_flash(program, library, target, Path(folder))
        try:
            around = our_firmware(int(np.prod(shape)), golden_bytes=0)
            check_fit(target, flash, program.full.arena_bytes, around)
            fits = True
        except ConfigError:
            fits = False
        costs[target.name] = BackboneCost(flash, fits)
    return ModelView(
        name=name,
        input_shape=shape,
        classes=classes,
        parameters=sum(int(np.prod(v.shape)) for v in model.trainable_variables),
        macs=graph.macs,
        arena_bytes=program.full.arena_bytes,
        blocks=backbone.blocks,
        letters=dict(backbone.letters),
        targets=costs,
    )
