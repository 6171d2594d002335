"""Flash, arena and instructions of exported models against TFLite-Micro with CMSIS-NN.

    make bench                              # models of the same shape with random weights
    make bench MODELS=path/to/the/models    # MLPerf Tiny's own .tflite files

Everything of ours is built and run here, by one compiler in one run. The figures of TFLite-Micro
are constants: TFLite-Micro (Aug 2026) with CMSIS-NN (Jul 2026), release build, gcc 12.2 -O2, one
Invoke() of MLPerf Tiny's reference int8 models on QEMU mps2-an386 (Cortex-M4F) and mps2-an500
(Cortex-M7) with -icount shift=0. Flash is text + data of the whole program, RAM the arena in use.
An emulator counts instructions; they are no time.
"""

import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from snapcli import console, toolchain
from snapcli.config import ExportOptions
from snapcli.device import Emulator, open_port
from snapcli.errors import SnapError
from snapcli.graph import read_tflite
from snapcli.stages.export_c import export_model
from snapcli.stages.flash import exported_sources
from snapcli.targets import load_target

sys.path.insert(0, str(Path(__file__).parent))
from models import ic, kws

ENGINE = Path(__file__).with_name("engine.c")
KERNELS = ("snap", "reference", "cmsis-nn")
ANSWER_S = 60.0


@dataclass(frozen=True)
class Anchor:
    """Of TFLite-Micro, in instructions and bytes; output: what it computed."""

    instructions: int
    flash_bytes: int
    arena_bytes: int
    output: tuple[int, ...]


_KWS = (*[-128] * 9, 110, -128, -110)
_IC = (-128, -128, -109, -109, -128, -128, 88, -128, -127, -128)
ANCHORS = {
    ("kws", "qemu-m4"): Anchor(7_697_840, 150_108, 22_820, _KWS),
    ("ic", "qemu-m4"): Anchor(29_864_080, 194_668, 54_996, _IC),
    ("kws", "qemu-m7"): Anchor(7_643_640, 148_556, 22_820, _KWS),
    ("ic", "qemu-m7"): Anchor(30_027_040, 193_116, 54_996, _IC),
}
FILES = {"kws": "kws_ref_model.tflite", "ic": "pretrainedResnet_quant.tflite"}
FLASH_GOAL = {"kws": 0.40, "ic": 0.57}
ARENA_GOAL = {"kws": 0.50, "ic": 0.65}
# Arm's own kernels must not lose more than this to the way we call them.
CMSIS_INSTRUCTIONS_GOAL = 1.02


@dataclass(frozen=True)
class Measured:
    instructions: int
    flash_bytes: int
    arena_bytes: int
    stack_bytes: int
    output: tuple[int, ...]


def measure(model: Path, target_name: str, kernels: str, folder: Path) -> Measured:
    """Export, build the whole program, run it once."""
    target = load_target(target_name)
    export = folder / f"{model.stem}-{target_name}-{kernels}"
    exported = export_model(model, export, ExportOptions(target_name, kernels))
    sources, includes = exported_sources(export)
    built = toolchain.build(target, [*sources, ENGINE], includes, {}, export / "build")
    (name,) = (graph := read_tflite(model.read_bytes())).outputs.values()
    size = graph.tensors[name].size_bytes
    with Emulator(target, built.elf) as emulator, open_port(emulator.port) as port:
        port.timeout = ANSWER_S
        port.write(b"!")
        answer = port.read(12 + size)
    count, stack, *output = struct.unpack(f"<QI{size}b", answer)
    return Measured(count, built.flash_bytes, exported.arena_bytes, stack, tuple(output))


def export_seconds(model: Path, folder: Path) -> float:
    """Of the whole command, as a user starts it."""
    program = Path(sys.executable).with_name("snap")
    words = ("export-c", "--model", str(model), "--out", str(folder / "timed"))
    start = time.perf_counter()
    subprocess.run([program, *words], check=True, capture_output=True)
    return time.perf_counter() - start


def main(
    models: Annotated[
        Path | None, typer.Option(help="Folder of the reference .tflite files.")
    ] = None,
) -> None:
    """Print every figure beside its anchor; fail if a goal is missed."""
    rows, missed, seconds = [], [], []
    with tempfile.TemporaryDirectory() as name, console.progress("bench") as on_progress:
        folder = Path(name)
        for model, build in (("kws", kws), ("ic", ic)):
            path = models / FILES[model] if models else folder / f"{model}.tflite"
            if not models:
                path.write_bytes(build())
            seconds.append(f"{model} {export_seconds(path, folder):.1f} s")
            for target in ("qemu-m4", "qemu-m7"):
                for kernels in KERNELS:
                    on_progress(len(rows), 8, f"{model} on {target}, {kernels}")
                    found = measure(path, target, kernels, folder)
                    anchor = ANCHORS[model, target]
                    ratios = {
                        "instructions": found.instructions / anchor.instructions,
                        "flash": found.flash_bytes / anchor.flash_bytes,
                        "arena": found.arena_bytes / anchor.arena_bytes,
                    }
                    goals = {"flash": FLASH_GOAL[model]}
                    if kernels == "reference":
                        goals["arena"] = ARENA_GOAL[model]
                    else:
                        goals["instructions"] = CMSIS_INSTRUCTIONS_GOAL
                    exact = found.output == anchor.output if models else None
                    where = f"{model} {target} {kernels}"
                    missed += [
                        f"{where}: {what} {ratios[what]:.3f}, goal {goal}"
                        for what, goal in goals.items()
                        if ratios[what] > goal
                    ]
                    if exact is False:
                        missed.append(f"{where}: another output than TFLite-Micro's")
                    rows.append(
                        (
                            model,
                            target,
                            kernels,
                            f"{found.instructions:,}",
                            f"{ratios['instructions']:.3f}",
                            f"{found.flash_bytes:,}",
                            f"{ratios['flash']:.3f}",
                            f"{found.arena_bytes:,}",
                            f"{ratios['arena']:.3f}",
                            f"{found.stack_bytes:,}",
                            {True: "yes", False: "NO", None: "-"}[exact],
                        )
                    )
    source = "MLPerf Tiny's models" if models else "random weights, seed 0"
    console.table(
        f"against TFLite-Micro with CMSIS-NN ({source})",
        (
            *("model", "target", "kernels", "instructions", "ratio", "flash, B", "ratio"),
            *("arena, B", "ratio", "stack, B", "same output"),
        ),
        rows,
    )
    console.say(f"snap export-c takes {', '.join(seconds)} on this machine (goal: under 3 s).")
    for line in missed:
        console.say(f"missed: {line}")
    if missed:
        raise typer.Exit(1)


if __name__ == "__main__":
    try:
        typer.run(main)
    except SnapError as error:
        console.print_error(error)
        sys.exit(error.exit_code)
