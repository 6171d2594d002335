"""snap taps"""

import shlex
from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    CmsisNn,
    NoWait,
    RunPath,
    RunsDir,
)
from snapcli.cli.render import figure, percent, size
from snapcli.config import TapsOptions, override

if TYPE_CHECKING:
    from snapcli.results.taps import TapsReport

EXAMPLES = (
    "snap taps",
    "snap taps --per instructions --max-overhead 1",
    "snap taps --target big-mcu --max-flash 16",
)


@takes(TapsOptions)
def taps(
    given: Given,
    cmsis_nn: CmsisNn = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Find the blocks that are worth a head, by gain and cost."""
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.taps import taps as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    export = run_recipe(chosen).export_c
    options = override(TapsOptions(target=export.target, kernels=export.kernels), **given)
    with console.progress("taps") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else show(report)


def show(report: "TapsReport") -> None:
    console.table(
        f"taps: {report.run}, costs on {report.target} with {report.kernels} kernels",
        ("block", "from", "rank", "r with S", "AUPRC alone", "flash", "instructions"),
        [
            (
                c.tap,
                c.before,
                str(c.rank),
                f"{c.score_correlation:.2f}",
                figure(c.auprc),
                size(c.cost.flash_bytes),
                f"+{percent(c.cost.instructions / report.backbone_instructions)}",
            )
            for c in report.candidates
        ],
    )
    names = [c.tap for c in report.candidates]
    console.table(
        "correlation of the surprisals, dev data",
        ("", *names),
        [
            (name, *(f"{r:.2f}" for r in row))
            for name, row in zip(names, report.correlation, strict=True)
        ],
    )
    console.table(
        "greedy search",
        ("taps", "AUPRC", "gain", "flash", "instructions"),
        [
            ("none (confidence alone)", figure(report.auprc_without), "", "", ""),
            *(
                (
                    f"+ {step.tap}",
                    figure(step.auprc),
                    f"{step.gain:+.3f}",
                    size(step.cost.flash_bytes),
                    f"+{percent(step.cost.instructions / report.backbone_instructions)}",
                )
                for step in report.steps
            ),
        ],
    )
    if report.recommended:
        taps = shlex.quote(",".join(report.recommended))
        added = f"{size(report.steps[-1].cost.flash_bytes)} flash, "
        rows = [
            ("recommended", f"snap train --taps {taps}, else as here"),
            ("adds", f"{added}{percent(report.overhead)} instructions"),
        ]
    else:
        rows = [("recommended", "none: no tap within the limits finds more errors")]
    console.pairs("result", [*rows, ("picture", report.picture)])
