"""How long `snap attach` takes for the keyword model with 5,000 inputs, and what its heads cost.

    make attach-speed                           # a model of that shape with random weights
    make attach-speed MODELS=path/to/the/models    # MLPerf Tiny's own .tflite file

The command runs as a user starts it, on random int8 inputs with labels, of which every eighth is
not what the model says, so that taps are chosen and maps are fitted. Beside it stands one plain
pass of the same model over the same inputs: the ratio says what attach does beyond looking.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from models import kws

from snapcli import console
from snapcli.graph import read_tflite
from snapcli.graph.chunks import in_chunks

INPUTS, SECONDS, OVERHEAD = 5_000, 60.0, 0.02
KERNELS = ("snap", "cmsis-nn")


def plain_pass(model: Path, x: np.ndarray) -> tuple[float, np.ndarray]:
    """(seconds of the integer reference over all inputs, its answers)"""
    graph = read_tflite(model.read_bytes())
    (output,) = graph.outputs.values()
    start = time.perf_counter()
    parts = [part[output] for _, part in in_chunks(lambda chunk: graph.run(chunk, {output}), x)]
    return time.perf_counter() - start, np.concatenate(parts).argmax(axis=-1)


def attach(model: Path, data: Path, kernels: str, folder: Path) -> tuple[float, dict]:
    """(seconds of the whole command, its report)"""
    program = Path(sys.executable).with_name("snap")
    words = ("attach", str(model), "--data", str(data), "--kernels", kernels, "--json")
    start = time.perf_counter()
    done = subprocess.run(
        [program, *words, "--runs-dir", str(folder / "runs")], check=True, capture_output=True
    )
    return time.perf_counter() - start, json.loads(done.stdout)


def main(
    models: Annotated[
        Path | None, typer.Option(help="Folder of the reference .tflite files.")
    ] = None,
) -> None:
    """Print both figures beside their goals; fail if one is missed."""
    rows, missed = [], False
    with tempfile.TemporaryDirectory() as name, console.progress("attach"):
        folder = Path(name)
        model = models / "kws_ref_model.tflite" if models else folder / "kws.tflite"
        if not models:
            model.write_bytes(kws())
        shape = read_tflite(model.read_bytes())
        tensor = shape.tensors[shape.input]
        x = np.random.default_rng(0).integers(-128, 128, (INPUTS, *tensor.shape)).astype(np.int8)
        plain, y = plain_pass(model, x)
        y[::8] = (y[::8] + 1) % 12
        np.savez(folder / "inputs.npz", x=x, y=y)
        for kernels in KERNELS:
            seconds, report = attach(model, folder / "inputs.npz", kernels, folder)
            missed |= seconds > SECONDS or report["overhead"] > OVERHEAD
            rows.append(
                (
                    kernels,
                    f"{seconds:.1f} s ({seconds / plain:.1f}x a plain pass)",
                    f"{SECONDS:g} s",
                    f"{100 * report['overhead']:.2f} %",
                    f"{100 * OVERHEAD:g} %",
                    ", ".join(report["taps"]),
                )
            )
    source = "MLPerf Tiny's model" if models else "random weights, seed 0"
    console.table(
        f"attach: keywords ({source}), {INPUTS:,} inputs",
        ("kernels", "time", "goal", "heads' instructions", "goal", "taps"),
        rows,
    )
    raise typer.Exit(int(missed))


if __name__ == "__main__":
    typer.run(main)
