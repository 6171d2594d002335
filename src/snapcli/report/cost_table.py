"""What each method costs on each target, as compiled."""

from collections.abc import Mapping
from typing import Any

from snapcli.report.methods import is_ours
from snapcli.report.numbers import kilobytes
from snapcli.report.table import Column, Row, table

_COLUMNS = (
    Column("method"),
    Column("computes"),
    Column("flash, bytes"),
    Column("RAM, bytes"),
    Column("instructions"),
    Column("overhead, %"),
    Column("status"),
)


def cost_tables(cost: Mapping[str, Any]) -> list[str]:
    """One for each target."""
    return [_of_target(target) for target in cost["targets"]]


def _of_target(cost: Mapping[str, Any]) -> str:
    rows = [
        Row(
            [
                *(row["method"], row["computes"], row["flash_bytes"], row["ram_bytes"]),
                *(row["instructions"], _percent(row["overhead"]), _status(row)),
            ],
            is_ours=is_ours(row["method"]),
        )
        for row in cost["rows"]
    ]
    limits = [
        f"{kilobytes(cost[f'{kind}_limit_bytes'])} {said}"
        for kind, said in (("flash", "flash"), ("ram", "RAM"))
        if cost[f"{kind}_limit_bytes"]
    ]
    title = f"{cost['target']}, {cost['part']}" + (f": {', '.join(limits)}" if limits else "")
    return table(title, _COLUMNS, rows, f"cost {cost['target']}")


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _status(row: Mapping[str, Any]) -> str:
    return f"{row['status']}: {row['why']}" if row["why"] else str(row["status"])
