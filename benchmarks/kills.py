"""kill -9 of snap at random moments during flash, bench and stream: what is left, what works.

    make kills                                            # trains a digits run first, 80 s
    python benchmarks/kills.py --run runs/digits-001 --kills 50 --seed 0

On a copy of a finished run, with the emulator as board. After each kill every recorded stage of
the run must be up to date, no emulator may live on, and the same command must work when it is run
again and leave no temporary file behind; a stream must then hold what one that was never killed
holds. About 15 seconds for each kill.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from snapcli import console
from snapcli.origin.recipe import recipe_for
from snapcli.runs import Run, create_run
from snapcli.stages.pipeline import pipeline

COMMANDS = {
    "flash": ("flash",),
    "bench": ("bench", "--inputs", "60"),
    # Longer than what lies between two partial files.
    "stream": ("bench", "--stream", "--limit", "600"),
}
ENDING_S = 2.0


@dataclass
class Tally:
    """Of one command. seconds: what it took when nobody killed it, the last time."""

    seconds: float
    kills: int = 0
    whole: int = 0
    no_emulator: int = 0
    works: int = 0
    tidy: int = 0
    resumed: int = 0
    problems: list[str] = field(default_factory=list)


def main(
    run: Annotated[Path | None, typer.Option(help="A finished run for an emulator.")] = None,
    kills: int = 50,
    seed: int = 0,
) -> None:
    with tempfile.TemporaryDirectory(prefix="snap-kills-") as folder:
        root = Path(folder) / "runs"
        if run is None:
            recipe = recipe_for("digits", quick=False)
            made = create_run(root, "digits")
            pipeline(made, recipe, console.progress)
            root = made.root
        else:
            root = root / run.resolve().name
            shutil.copytree(run.resolve(), root)
        rng = random.Random(seed)
        tallies = {name: Tally(finished(root, name)) for name in COMMANDS}
        unharmed = newest_stream(root)
        with console.progress("kills") as on_progress:
            for i in range(kills):
                name = list(COMMANDS)[i % len(COMMANDS)]
                kill_once(root, name, tallies[name], rng, unharmed)
                on_progress(i + 1, kills, name)
    report(tallies)
    raise typer.Exit(7 if any(t.problems for t in tallies.values()) else 0)


def snap(root: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "snapcli", *COMMANDS[name], "--run", str(root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(root: Path, name: str) -> float:
    """Run a command to its end; how long that took."""
    began = time.monotonic()
    process = snap(root, name)
    _, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{name}: exit code {process.returncode}: {errors.strip()}")
    return time.monotonic() - began


def kill_once(
    root: Path, name: str, tally: Tally, rng: random.Random, unharmed: dict[str, np.ndarray]
) -> None:
    moment = tally.seconds
    while True:
        moment = rng.uniform(0.0, moment)
        process = snap(root, name)
        time.sleep(moment)
        late = process.poll() is not None
        process.kill()
        process.communicate()
        if not late:
            break
    tally.kills += 1

    def judge(what: str, problem: object) -> None:
        """Counts what is well, and remembers what is not."""
        if problem:
            tally.problems.append(f"{name}, killed after {moment:.2f} s: {what}: {problem}")
        else:
            setattr(tally, what, getattr(tally, what) + 1)

    judge("whole", [s.detail for s in Run(root).states() if s.status != "done"])
    judge("no_emulator", emulators(root))
    try:
        tally.resumed += any((root / "bench").glob(".qemu-m4-stream-*.partial"))
        tally.seconds = finished(root, name)
        problem = "" if name != "stream" else difference(newest_stream(root), unharmed)
    except RuntimeError as error:
        problem = str(error)
    judge("works", problem)
    judge("tidy", [str(p.relative_to(root)) for p in root.rglob(".*") if p.name != ".locks"])


def emulators(root: Path) -> list[int]:
    """Processes that still run an image of this run; one that is dying gets a moment."""
    until = time.monotonic() + ENDING_S
    while True:
        found = [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if "qemu" in (words := _words(path)) and str(root) in words
        ]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def _words(cmdline: Path) -> str:
    try:
        return cmdline.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it has ended
        return ""


def newest_stream(root: Path) -> dict[str, np.ndarray]:
    path = max((root / "bench").glob("*-stream-*.npz"))
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays if name != "time_s"}


def difference(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> str:
    unequal = [name for name in wanted if not np.array_equal(found.get(name, ()), wanted[name])]
    return f"{', '.join(unequal)} differ" if unequal else ""


def report(tallies: dict[str, Tally]) -> None:
    rows: list[Sequence[str]] = [
        (
            name,
            f"{t.seconds:.1f} s",
            f"{t.kills}",
            f"{t.whole} of {t.kills}",
            f"{t.no_emulator} of {t.kills}",
            f"{t.works} of {t.kills}",
            f"{t.tidy} of {t.kills}",
        )
        for name, t in tallies.items()
    ]
    columns = ("command", "takes", "kills", "run whole", "no emulator left")
    console.table("kill -9 at random moments", (*columns, "next run works", "and is tidy"), rows)
    console.say(f"Streams that went on from a partial file: {tallies['stream'].resumed}")
    for tally in tallies.values():
        for problem in tally.problems:
            console.say(problem)


if __name__ == "__main__":
    typer.run(main)
