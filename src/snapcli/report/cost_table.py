"""What each method costs on each target, as compiled."""

from collections.abc import Mapping
from typing import Any

from snapcli.report.methods import is_ours
from snapcli.report.table import LOWER, Column, Row, table

_COLUMNS = (
    Column("method"),
    Column("flash, bytes", LOWER),
    Column("RAM, bytes", LOWER),
    Column("instructions", LOWER),
    Column("status"),
)


def cost_tables(cost: Mapping[str, Any]) -> list[str]:
    """One for each target."""
    found = []
    for target in dict.fromkeys(row["target"] for row in cost["rows"]):
        rows = [
            Row(
                [
                    row["method"],
                    row["flash_bytes"],
                    row["ram_bytes"],
                    row["instructions"],
                    row["status"],
                ],
                is_ours=is_ours(row["method"]),
            )
            for row in cost["rows"]
            if row["target"] == target
        ]
        found.append(table(target, _COLUMNS, rows, f"cost {target}"))
    return found
