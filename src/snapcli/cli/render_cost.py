"""What the methods cost, as a table for each target."""

from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.render import plural, size

if TYPE_CHECKING:
    from snapcli.results.cost import CostReport, CostRow, TargetCost

_COLUMNS = ("method", "flash", "RAM", "instructions", "overhead", "fit", "behind the network")


def cost(report: "CostReport") -> None:
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
