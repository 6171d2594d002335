"""What each method costs on each target, as compiled."""

from snapcli.report.methods import is_ours
from snapcli.report.numbers import kilobytes
from snapcli.report.table import Column, Row, table
from snapcli.results.cost import CostReport, CostRow, TargetCost

_COLUMNS = (
    Column("method"),
    Column("computes"),
    Column("flash, bytes"),
    Column("RAM, bytes"),
    Column("instructions"),
    Column("overhead, %"),
    Column("status"),
)


def cost_tables(cost: CostReport) -> list[str]:
    """One for each target."""
    return [_of_target(target) for target in cost.targets]


def _of_target(cost: TargetCost) -> str:
    rows = [
        Row(
            [
                *(row.method, row.computes, row.flash_bytes, row.ram_bytes),
                *(row.instructions, _percent(row.overhead), _status(row)),
            ],
            is_ours=is_ours(row.method),
        )
        for row in cost.rows
    ]
    limits = [
        f"{kilobytes(limit)} {what}"
        for limit, what in ((cost.flash_limit_bytes, "flash"), (cost.ram_limit_bytes, "RAM"))
        if limit
    ]
    title = f"{cost.target}, {cost.part}" + (f": {', '.join(limits)}" if limits else "")
    return table(title, _COLUMNS, rows, f"cost {cost.target}")


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _status(row: CostRow) -> str:
    return f"{row.status}: {row.why}" if row.why else row.status
