"""A run of a tiny int8 model that was attached, with data of its own, made without any stage."""

from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.config import AttachOptions, CalibrateOptions, Recipe, dump_recipe
from snapcli.data.dataset import Dataset, Split
from snapcli.data.streams import build_stream
from snapcli.monitor.body import save_body
from snapcli.monitor.decision import decision_to_dict
from snapcli.monitor.monitor import CALIBRATION_FILE
from snapcli.origin.recipe import CONFIG
from snapcli.runs import Run, create_run, write_json
from tests.unit.stages.made_stream import stream_files
from tests.unit.tiny_monitor import CLASSES, random_inputs, tiny_monitor, tiny_tflite

# The test stream begins with so many: all that is clean, severity 1 and half of a foreign burst.
PLAYED_FRAMES = 3050
SIZES = {"train": 120, "dev": 80, "test": 80}


def _louder(x: NDArray[np.float32], severity: int, rng: np.random.Generator) -> NDArray[np.float32]:
    return x * np.float32(1 + severity / 2)


def _noisy(x: NDArray[np.float32], severity: int, rng: np.random.Generator) -> NDArray[np.float32]:
    return x + rng.normal(0, severity / 3, x.shape).astype(np.float32)


@cache
def tiny_dataset(corrupted: bool) -> Dataset:
    """The model's own answers are right, but for every twelfth."""
    monitor = tiny_monitor()
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]

    def split(name: str, seed: int) -> Split:
        q = random_inputs(SIZES[name], seed)
        y = monitor.run(q).predicted.astype(np.int64)
        y[::12] = (y[::12] + 1) % CLASSES
        return Split(tensor.real(q), y, np.array([f"{name} {i}" for i in range(len(y))]))

    return Dataset(
        name="tiny",
        class_names=tuple("abcde"),
        train=split("train", 21),
        dev=split("dev", 22),
        test=split("test", 23),
        corruptions={"louder": _louder, "noisy": _noisy} if corrupted else {},
        ood={"strange": tensor.real(random_inputs(60, 24)[:, ::-1].copy())},
    )


def tiny_run(runs: Path) -> Run:
    run = create_run(runs, "tiny")
    run.make_latest()
    run.path(CONFIG).write_text(dump_recipe(Recipe(attach=AttachOptions(model="tiny.tflite"))))
    with run.write("attach", after=(), beside=(CONFIG,)) as out:
        save_body(tiny_monitor().body, tiny_tflite(), out)
    calibrate(run, "gated")
    return run


def calibrate(run: Run, kind: str, **options: Any) -> None:
    """As a calibration with these options that takes this map."""
    with run.write("calibrate", after=("attach",)) as out:
        decision = tiny_monitor(kind).decision
        write_json(
            out / CALIBRATION_FILE,
            {
                "options": asdict(replace(CalibrateOptions(), **options)),
                "report": {"map": {"kind": kind}, "dev": {}},
                "device": decision_to_dict(decision),
            },
        )


def play(run: Run, split: str = "test", target: str = "qemu-m4") -> str:
    """As if a device had answered the first frames of a stream; the stage."""
    plan, monitor = build_stream(tiny_dataset(True), split, 0), tiny_monitor()
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    segments = [s for s in plan.segments if s.first < PLAYED_FRAMES]
    found = [monitor.run(tensor.quantize(plan.inputs(segment))) for segment in segments]
    names = ("logits", "surprisal_q16", "uncertainty_q16")
    log = {n: np.concatenate([getattr(f, n) for f in found])[:PLAYED_FRAMES] for n in names}
    label = np.concatenate([plan.labels(s) for s in segments])[:PLAYED_FRAMES]

    files = stream_files(len(label), 2, CLASSES, {**log, "label": label}, split=split)
    stage = f"stream/{target}"
    run.add_files(stage, f"bench/{target}-stream", ("attach", "calibrate"), files)
    return stage
