"""snap attach"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import Given, about, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.options import RUNS, AsJson, CmsisNn, RunsDir
from snapcli.cli.render import (
    answers,
    by_severity,
    detection,
    figure,
    foreign,
    heads,
    idle_heads,
    map,
    maps,
    notes,
    per_tap,
    percent,
    size,
    threshold,
)
from snapcli.config import (
    DATASETS,
    THRESHOLDS,
    AttachOptions,
    CalibrateOptions,
    ExportOptions,
    Recipe,
    override,
)
from snapcli.errors import UsageError

if TYPE_CHECKING:
    from snapcli.results.attach import AttachReport

EXAMPLES = (
    "snap attach kws.tflite --data recordings/ --target small-mcu",
    "snap attach kws.tflite --data recordings/ --labels down,go,left,no,unknown",
    "snap attach model.keras --data photos/ --front-end unit --augment-dev",
    "snap attach model.tflite --data inputs.npz --taps conv2,conv3 --coverage 0.95",
    "snap attach model.h5 --data mypkg.inputs:load",
)
# Every corrupted condition costs a pass over so many examples.
_LIMIT = 100
_DECISION = "Decision"


@takes(AttachOptions)
def attach(
    model: Annotated[Path, typer.Argument(help=about(AttachOptions, "model"))],
    data: Annotated[
        str,
        typer.Option(rich_help_panel="Data", help=about(AttachOptions, "data")),
    ],
    given: Given,
    limit: Annotated[
        int,
        typer.Option(rich_help_panel=_DECISION, help="Examples of each corrupted condition."),
    ] = _LIMIT,
    coverage: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=_DECISION,
            help=f"Share of clean inputs that is accepted.  [default: {THRESHOLDS['coverage']:g}]",
        ),
    ] = None,
    map: Annotated[
        str,
        typer.Option(rich_help_panel=_DECISION, help="From S to U, as in `snap calibrate`."),
    ] = CalibrateOptions.map,
    allow_code: Annotated[
        bool,
        typer.Option("--allow-code", help="Run code inside of a Keras model that you trust."),
    ] = False,
    target: Annotated[
        str, typer.Option(help=about(ExportOptions, "target"))
    ] = ExportOptions.target,
    kernels: Annotated[
        str, typer.Option(help=about(ExportOptions, "kernels"))
    ] = ExportOptions.kernels,
    cmsis_nn: CmsisNn = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Give a finished model heads, a map and a threshold, into a new run."""
    from dataclasses import replace

    from snapcli.origin.origin import origin_of
    from snapcli.origin.recipe import run_prefix
    from snapcli.runs import new_run
    from snapcli.stages.attach import attach as stage
    from snapcli.usercode import allow_code as allow

    allow(allow_code)
    if given.get("taps") == ():
        raise UsageError("no tap given", "Name some, or leave --taps out.")
    if coverage is not None and not 0 < coverage <= 1:
        raise UsageError(f"--coverage is {coverage:g}", "Give a share above 0, at most 1.")
    if "labels" in given:
        given["labels"] = _placed(given["labels"])
    defaults = Recipe()
    recipe = replace(
        defaults,
        attach=override(
            defaults.attach,
            model=str(model.expanduser().resolve()),
            data=_placed(data),
            code_dir=str(Path.cwd()) if ":" in f"{data}{given.get('front_end', '')}" else None,
            **given,
        ),
        calibrate=override(defaults.calibrate, map=map, target=coverage, limit=limit),
        export_c=override(defaults.export_c, target=target, kernels=kernels),
    )
    announce_fetch(recipe.export_c.kernels, cmsis_nn)
    place = new_run(runs_dir, run_prefix(str(model)))
    with place as run, console.progress("attach") as on_progress:
        report = stage(run, recipe, cmsis_nn, on_progress)
    console.print_json(report) if json else show(report, origin_of(run).without_heads)


def _placed(name: str) -> str:
    """Later commands find a file from wherever they are typed; a data set's name is not a file."""
    path = Path(name).expanduser()
    return str(path.resolve()) if name and name not in DATASETS and path.exists() else name


def _shipped(report: "AttachReport") -> str:
    if not report.converted:
        return "byte for byte as it is"
    return f"converted to int8, {percent(report.float_agreement)} of dev answers as in float"


def show(report: "AttachReport", without_heads: str) -> None:
    """without_heads: the command that calibrates so."""
    notes(report.notes)
    calibrated = report.calibrate
    labelled = report.labelled
    split = report.examples
    counted = "instructions" if report.cost_is_measured else "operations (estimated)"
    rows = [
        *idle_heads(calibrated, without_heads),
        ("model", f"{report.model}, {size(report.model_bytes)}, {report.macs:,} MAC"),
        (
            "ships",
            f"{_shipped(report)}, sha256 {report.model_sha256[:16]}",
        ),
        (
            "data",
            f"{report.data}, {'with' if report.labelled else 'without'} labels: "
            f"{split['train']:,} for the heads, {split['dev']:,} for the map, "
            f"{split['test']:,} to judge",
        ),
        ("accuracy, clean test", percent(report.accuracy)),
        *by_severity(calibrated.accuracy_by_severity, labelled),
        ("taps", f"{', '.join(report.taps) or 'none'}: {report.taps_reason}"),
        (
            "the monitor adds about",
            f"{size(report.flash_bytes)} flash, {percent(report.overhead)} {counted}",
        ),
        *([("E[e] on clean dev, 1 fits", per_tap(report.mean_surprisal))] if report.taps else []),
        ("map", f"{map(calibrated.map)}. {calibrated.map_reason}"),
        ("heads", heads(calibrated)),
        ("threshold", f"{threshold(calibrated.threshold)} (by {calibrated.threshold_rule})"),
        ("accepted of clean test", percent(calibrated.coverage_clean_test)),
        *foreign(calibrated.foreign),
    ]
    console.pairs(f"attach: {report.run}", rows)
    if report.taps or len(report.candidates) > 1:  # else there was nothing to choose from
        _candidates(report)
    maps("int8", calibrated.dev, calibrated.map["kind"], labelled)
    detection("int8", calibrated.detection, labelled)
    answers("int8", calibrated.answers)
    for line in report.means:
        console.say(line)


def _candidates(report: "AttachReport") -> None:
    console.table(
        "candidates, each alone",
        ("tap", "from", "rank", "r with S", "AUPRC, dev", "flash"),
        [
            (
                f"{c.tap} (taken)" if c.tap in report.taps else c.tap,
                c.before,
                str(c.rank),
                f"{c.score_correlation:.2f}",
                figure(c.auprc),
                size(c.cost.flash_bytes),
            )
            for c in report.candidates
        ],
    )
