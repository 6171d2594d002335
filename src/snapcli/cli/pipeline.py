"""What `snap demo` and `snap run` share: progress of the stages, and one table at the end."""

import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.interrupt import resumable
from snapcli.cli.render import figure, idle_heads, percent, size, within
from snapcli.config import NO_DETECTOR, Recipe
from snapcli.errors import ConfigError, UsageError
from snapcli.progress import OnProgress

if TYPE_CHECKING:
    from snapcli.results.alarm import AlarmReport
    from snapcli.stages.pipeline import PipelineReport


def run_pipeline(recipe: Recipe, runs_dir: Path, json: bool) -> None:
    from snapcli.origin.origin import origin_of
    from snapcli.origin.recipe import run_prefix
    from snapcli.runs import new_run
    from snapcli.stages.pipeline import pipeline
    from snapcli.stages.train import check_options
    from snapcli.targets import load_target

    # Before a run directory is made, everything that can be wrong in the recipe has its say.
    try:
        target = load_target(recipe.export_c.target)
        with console.progress("train"):
            check_options(recipe.train)
    except UsageError as error:
        raise ConfigError(error.message, error.hint) from None
    with new_run(runs_dir, run_prefix(recipe.train.dataset)) as run, resumable(run):
        report = pipeline(run, recipe, _watch)
    if report.alarm is None and recipe.alarm.detector != NO_DETECTOR:
        console.note("alarm      none: the data bear none; snap alarm says why")
    if report.bench is None:
        console.note(f"bench      skipped: {target.name} is a {'board' if target.port else 'core'}")
    if json:
        console.print_json(report)
    else:
        _table(report, str(runs_dir / run.name), origin_of(run).without_heads)


@contextmanager
def _watch(stage: str) -> Iterator[OnProgress]:
    started = time.monotonic()
    with console.progress(stage) as on_progress:
        yield on_progress
    console.note(f"{stage:<10} {time.monotonic() - started:6.1f} s")


def _program() -> str:
    """How this program is called from here: by name where the name leads to it."""
    own = Path(sys.argv[0])
    path = shutil.which(own.name)
    ours = path and own.exists() and Path(path).samefile(own)
    return own.name if ours else shlex.quote(str(own))


def _table(report: "PipelineReport", folder: str, without_heads: str) -> None:
    """without_heads: the command that calibrates so."""
    drift, detection, bench = report.quantize.drift, report.quantize.detection, report.bench
    snap, plain = detection.errors["U"], detection.errors["max-probability"]
    rows = [
        *idle_heads(report.quantize, without_heads),
        (
            "accuracy, float / int8",
            f"{percent(drift.float_accuracy)} / {percent(drift.int8_accuracy)}",
        ),
        (
            "Spearman of S, int8 to float",
            f"{figure(drift.spearman_all)} (clean {figure(drift.spearman_clean)})",
        ),
    ]
    for title, part in (("pooled", "pooled"), ("per cell", "per_cell"), ("clean", "clean")):
        ours, theirs = getattr(snap, part).auroc, getattr(plain, part).auroc
        rows.append(
            (f"AUROC of errors, {title}", f"SNAP {figure(ours)}, max-probability {figure(theirs)}")
        )
    for name, scores in detection.ood.items():
        ours, theirs = scores["F"].auroc, scores["max-probability"].auroc
        rows.append(
            (f"AUROC of OOD, {name}", f"F {figure(ours)}, max-probability {figure(theirs)}")
        )
    rows += [("alarm", _alarm(report.alarm))] if report.alarm else []
    flash = report.flash
    with_, without = flash.size, flash.size_without_heads
    rows += [
        (
            "flash",
            f"{within(with_.flash_bytes, flash.flash_limit_bytes)} "
            f"(monitor {size(with_.flash_bytes - without.flash_bytes)})",
        ),
        (
            "RAM, stack included",
            f"{within(with_.ram_bytes, flash.ram_limit_bytes)} "
            f"(monitor {size(with_.ram_bytes - without.ram_bytes)})",
        ),
    ]
    if bench and bench.timing_without_heads and bench.heads_overhead is not None:
        rows += [
            (
                "stack, high-water mark",
                f"{size(bench.stack.used_bytes)} of {size(bench.stack.reserved_bytes)}",
            ),
            (
                f"{bench.counter} with / without monitor",
                f"{bench.timing.mean:,.0f} / {bench.timing_without_heads.mean:,.0f} "
                f"(+{100 * bench.heads_overhead:.2f} %)",
            ),
            ("bit-exact", f"{bench.bit_exact} of {bench.inputs}"),
        ]
    console.pairs(f"{report.train.run} on {flash.target} ({flash.part}), int8", rows)
    console.say(f"Everything is in {folder}. More: {_program()} show")


def _alarm(report: "AlarmReport") -> str:
    harmful = next(group for group in report.groups if group.name == "harmful")
    quiet = f"{report.silence.test_alarms} false in {report.silence.test_frames:,}"
    if not harmful.shifts:
        return f"{report.detector}: {quiet}"
    return (
        f"{report.detector}: {percent(harmful.found)} of 10-point shifts, half within "
        f"{harmful.median:.0f} frames; {quiet}"
    )
