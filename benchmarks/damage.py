"""A bench over a line that drops, doubles, flips, delays and cuts: an answer is right or an error.

    make damage

Each pattern is a seed: one to four damages in either direction of a small bench (hello, start,
inferences, profile, check, stack, self-test) whose answers are known. The firmware runs as a
process of this machine, built with ASan and UBSan, behind a pty; and under QEMU. Time-outs are
short, so that ten thousand patterns take minutes.
"""

import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.unit.device.damage_trial import LATE, REPEATED, RIGHT, WRONG, Trial, limit_s, trial
from tests.unit.firmware import tiny_model
from tests.unit.firmware.running import running

from snapcli import console, toolchain
from snapcli.device import Emulator
from snapcli.errors import SnapError
from snapcli.targets import load_target

EMULATED = "qemu-m4"
PATTERNS_PER_DEVICE = 50


@dataclass(frozen=True)
class Bed:
    """Where patterns are tried. Workers mostly wait, so there are more than processors."""

    name: str
    program: Path
    timeout_s: float
    workers: int


def host_bed(folder: Path) -> Bed:
    return Bed("host build", tiny_model.build(folder / "firmware"), timeout_s=0.05, workers=8)


def emulated_bed(folder: Path) -> Bed:
    files, include_dirs = tiny_model.sources()
    built = toolchain.build(
        load_target(EMULATED), [*files, *toolchain.app_sources()], include_dirs, {}, folder
    )
    return Bed(EMULATED, built.elf, timeout_s=0.3, workers=2)


@contextmanager
def device(bed: Bed) -> Iterator[str]:
    """The port of a device that has just started."""
    if bed.name == EMULATED:
        with Emulator(load_target(EMULATED), bed.program) as emulator:
            yield emulator.port
    else:
        with running(bed.program) as process:
            yield process.console.path


def tried(job: tuple[Bed, range]) -> list[Trial]:
    bed, seeds = job
    with device(bed) as port:
        return [trial(port, seed, bed.timeout_s) for seed in seeds]


def row(bed: Bed, trials: list[Trial]) -> tuple[str, ...]:
    outcomes = Counter(found.outcome for found in trials)
    fixed = {RIGHT, REPEATED, WRONG, LATE}
    errors = {what: count for what, count in outcomes.most_common() if what not in fixed}
    slowest = max(found.slowest_s for found in trials)
    return (
        bed.name,
        f"{len(trials):,}",
        f"{outcomes[RIGHT]:,}",
        f"{outcomes[REPEATED]:,}",
        f"{sum(errors.values()):,}",
        ", ".join(f"{what} {count}" for what, count in errors.items()) or "-",
        f"{outcomes[WRONG]:,}",
        f"{outcomes[LATE]:,}",
        f"{slowest:.2f} s (limit {limit_s(bed.timeout_s):.2f} s)",
    )


def main(
    patterns: Annotated[int, typer.Option(help="Patterns against the host build.")] = 10_000,
    emulated: Annotated[int, typer.Option(help="Patterns against QEMU.")] = 200,
    seed: Annotated[int, typer.Option(help="The first of the seeds.")] = 0,
) -> None:
    """Print what came of every pattern; fail if one gave a wrong number or took too long."""
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as name, console.progress("damage") as on_progress:
        for count, make in ((patterns, host_bed), (emulated, emulated_bed)):
            if not count:
                continue
            bed, found = make(Path(name)), []
            starts = range(seed, seed + count, PATTERNS_PER_DEVICE)
            jobs = [
                (bed, range(first, min(first + PATTERNS_PER_DEVICE, seed + count)))
                for first in starts
            ]
            with multiprocessing.Pool(bed.workers) as pool:
                for part in pool.imap_unordered(tried, jobs):
                    found += part
                    on_progress(len(found), count, bed.name)
            rows.append(row(bed, found))
            failures += [(bed, bad) for bad in found if bad.outcome in (WRONG, LATE)]
    console.table(
        "damage on the line",
        (
            *("device", "patterns", RIGHT, REPEATED, "clear errors", "of what kind"),
            *(WRONG, LATE, "slowest request"),
        ),
        rows,
    )
    for bed, bad in failures:
        console.say(f"{bed.name}, seed {bad.seed}: {bad.outcome}: {bad.detail}")
    if failures:
        raise typer.Exit(1)


if __name__ == "__main__":
    try:
        typer.run(main)
    except SnapError as error:
        console.print_error(error)
        sys.exit(error.exit_code)
