"""snap cost"""

from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, CmsisNn, NoWait, RunPath, RunsDir
from snapcli.cli.render import plural, size
from snapcli.config import CostOptions, override

if TYPE_CHECKING:
    from snapcli.results.cost import CostReport, CostRow, TargetCost

EXAMPLES = (
    "snap cost",
    "snap cost --target small-mcu --kernels cmsis-nn",
    "snap cost --methods snap,hybrid,mahalanobis-full",
    "snap cost --run digits-001 --json",
)
_COLUMNS = ("method", "flash", "RAM", "instructions", "overhead", "fit", "behind the network")


@takes(CostOptions)
def cost(
    given: Given,
    cmsis_nn: CmsisNn = None,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Compile every method for the boards: flash, RAM and instructions, and what does not fit."""
    from snapcli.origin.recipe import run_recipe
    from snapcli.stages.cost import cost as stage

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(CostOptions(kernels=run_recipe(chosen).export_c.kernels), **given)
    announce_fetch(options.kernels, cmsis_nn)
    with console.progress("cost") as on_progress:
        report = stage(chosen, options, cmsis_nn, on_progress)
    console.print_json(report) if json else show(report)


def show(report: "CostReport") -> None:
    for target in report.targets:
        title = f"cost: {report.run} on {target.target} ({target.part}), kernels {report.kernels}"
        console.wide_table(title, _COLUMNS, [_row(row) for row in target.rows])
        for row in target.rows:
            if row.flash_bytes is None:
                console.say(f"{row.method} is {row.status}: {row.why}.")
        console.say(_limits(target))
    console.say(
        "flash: code and constants. RAM: arena and the stack that was used. instructions: of an "
        f"inference, mean of {plural(report.inputs, 'input')}, in steps of 40."
    )


def _row(row: "CostRow") -> tuple[str, ...]:
    if row.flash_bytes is None or row.ram_bytes is None or row.instructions is None:
        return (row.method, "", "", "", "", row.status, row.computes)
    status = f"{row.status}, {row.why}" if row.why else row.status
    figures = (size(row.flash_bytes), size(row.ram_bytes), f"{row.instructions:,}")
    return (row.method, *figures, f"{100 * (row.overhead or 0):+.2f} %", status, row.computes)


def _limits(target: "TargetCost") -> str:
    if not target.flash_limit_bytes:
        return f"{target.target} has no limits; counted on {target.counted_on}."
    return (
        f"{target.target}: {size(target.flash_limit_bytes)} of flash and "
        f"{size(target.ram_limit_bytes)} of RAM, of which the firmware itself takes "
        f"{size(target.firmware_flash_bytes)} and {size(target.firmware_ram_bytes)} "
        f"with its stack; counted on {target.counted_on}."
    )
