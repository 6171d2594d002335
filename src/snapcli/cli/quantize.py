"""snap quantize"""

from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.cli.render import (
    answers,
    by_severity,
    controlled,
    detection,
    figure,
    foreign,
    heads,
    idle_heads,
    map,
    maps,
    percent,
    promised,
    size,
    threshold,
)
from snapcli.config import QuantizeOptions, override

if TYPE_CHECKING:
    from snapcli.results.quantize import QuantizeReport

EXAMPLES = (
    "snap quantize",
    "snap quantize --samples 200",
    "snap quantize --json",
)


@takes(QuantizeOptions)
def quantize(
    given: Given,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Turn model, heads, map and threshold into integers."""
    from snapcli.origin.origin import origin_of
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.quantize import quantize as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(run_recipe(chosen).quantize, **given)
    with console.progress("quantize") as on_progress:
        report = stage(chosen, options, on_progress)
    console.print_json(report) if json else show(report, origin_of(chosen).without_heads)


def show(report: "QuantizeReport", without_heads: str) -> None:
    """without_heads: the command that calibrates so."""
    drift = report.drift
    rows = [
        *idle_heads(report, without_heads),
        ("model", f"{size(report.model_bytes)}, {report.macs:,} MAC"),
        (
            "accuracy float / int8",
            f"{percent(drift.float_accuracy)} / {percent(drift.int8_accuracy)}",
        ),
        *by_severity(report.accuracy_by_severity),
        ("same class, clean + corrupted", percent(drift.agreement)),
        ("Spearman of S, clean + corrupted", figure(drift.spearman_all)),
        ("Spearman of S, clean", figure(drift.spearman_clean)),
        ("map, refitted", f"{map(report.map)}. {report.map_reason}"),
        ("heads", heads(report)),
        ("threshold, refitted", threshold(report.threshold)),
        ("accepted of clean test", percent(report.coverage_clean_test)),
        *foreign(report.foreign),
        *controlled(report.controller),
    ]
    console.pairs(f"quantize: {report.run}", rows)
    promised(report.promise, report.controller)
    maps("int8", report.dev, report.map["kind"])
    detection("int8", report.detection)
    answers("int8", report.answers)
