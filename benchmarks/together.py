"""Two commands at once on one run, again and again, and a reader beside a writer: what is lost.

    make together                                           # trains a digits run first
    python benchmarks/together.py --run runs/digits-001 --pairs 1000 --rewrites 1000 --opens 10000

Each pair is two of report and export-c (for TFLite-Micro, which compiles least, and two targets),
in processes of their own that start at the same moment. Afterwards the manifest must hold the
record of both, as they were made in this round, and every stage must be whole. Then one process
rewrites a stage while two others open the run and look at every stage: none may ever look
damaged.
"""

import io
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import run_app
from snapcli.runs import Run

FORK = multiprocessing.get_context("fork")
COMMANDS = {
    "export-tflm/qemu-m4": ("export-c", "--runtime", "tflm", "--target", "qemu-m4"),
    "export-tflm/qemu-m7": ("export-c", "--runtime", "tflm", "--target", "qemu-m7"),
    "report": ("report",),
}


def main(
    run: Annotated[Path | None, typer.Option(help="A finished run of digits.")] = None,
    pairs: int = 1000,
    rewrites: int = 1000,
    opens: int = 10000,
    seed: int = 0,
) -> None:
    with tempfile.TemporaryDirectory(prefix="snap-together-") as folder:
        runs = Path(folder) / "runs"
        if run is None:
            # TensorFlow's threads would not survive that this process parts in two.
            demo = [sys.executable, "-m", "snapcli", "demo", "--runs-dir", str(runs)]
            subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
            root = (runs / "latest").resolve()
        else:
            root = runs / run.resolve().name
            shutil.copytree(run.resolve(), root)
        lost = paired(root, pairs, random.Random(seed))
        damaged = opened(root, rewrites, opens)
    console.pairs(
        "one run, several processes",
        [
            (f"{pairs} pairs of commands", f"{len(lost)} records lost"),
            (f"{opens} opens during {rewrites} rewrites", f"{len(damaged)} stages damaged"),
        ],
    )
    for problem in (*lost, *damaged)[:10]:
        console.say(problem)
    raise typer.Exit(7 if lost or damaged else 0)


# ---- Pairs of commands --------------------------------------------------------------


def paired(root: Path, pairs: int, rng: random.Random) -> list[str]:
    lost: list[str] = []
    # Loaded once, before the processes part.
    for command in COMMANDS.values():
        with redirect_stdout(io.StringIO()):
            code = run_app([*command, "--run", str(root), "--json"])
        if code:
            raise typer.Exit(code)
    with console.progress("pairs") as on_progress:
        for number in range(pairs):
            stages = rng.sample(sorted(COMMANDS), 2)
            lost += after_one_pair(root, stages, f"#{number}")
            on_progress(number + 1, pairs, f"{len(lost)} lost")
    return lost


def after_one_pair(root: Path, stages: list[str], mark: str) -> list[str]:
    barrier = FORK.Barrier(len(stages))
    processes = [FORK.Process(target=snap, args=(root, s, mark, barrier)) for s in stages]
    for process in processes:
        process.start()
    problems = []
    for stage, process in zip(stages, processes, strict=True):
        process.join()
        if process.exitcode:
            problems.append(f"{mark} {stage}: exit code {process.exitcode}")
    run = Run(root)
    for stage in stages:
        record = run.record(stage)
        if record is None or record["argv"][-1] != mark:
            problems.append(f"{mark} {stage}: its record is of {record and record['argv']}")
    damaged = (s for s in map(run.state, run.records()) if s.status == "damaged")
    return problems + [f"{mark} {s.stage}: {s.detail}" for s in damaged]


def snap(root: Path, stage: str, mark: str, barrier: Barrier) -> None:
    # What stands at the end of argv goes into the record.
    sys.argv = ["snap", *COMMANDS[stage], mark]
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    barrier.wait()
    os._exit(run_app([*COMMANDS[stage], "--run", str(root), "--json"]))


# ---- A writer and readers ----------------------------------------------------------------


def opened(root: Path, rewrites: int, opens: int) -> list[str]:
    results = FORK.SimpleQueue()
    jobs: list[tuple[Callable[..., None], int]] = [
        (rewrite, rewrites),
        (look, opens // 2),
        (look, opens - opens // 2),
    ]
    processes = [FORK.Process(target=job, args=(root, n, results)) for job, n in jobs]
    for process in processes:
        process.start()
    with console.progress("opens"):
        found = [problem for _ in processes for problem in json.loads(results.get())]
    for process in processes:
        process.join()
    return found


def rewrite(root: Path, count: int, results: "multiprocessing.SimpleQueue[str]") -> None:
    """calibrate, with what it holds."""
    held = {p.name: p.read_bytes() for p in (root / "calibrate").iterdir()}
    for number in range(count):
        with Run(root).write("calibrate", ("train",)) as folder:
            for name, content in held.items():
                (folder / name).write_bytes(content)
            (folder / "number.txt").write_text(str(number))
    results.put(json.dumps([]))


def look(root: Path, count: int, results: "multiprocessing.SimpleQueue[str]") -> None:
    problems = []
    for _ in range(count):
        run = Run(root)
        problems += [s.detail for s in map(run.state, run.records()) if s.status == "damaged"]
    results.put(json.dumps(problems))


if __name__ == "__main__":
    typer.run(main)
