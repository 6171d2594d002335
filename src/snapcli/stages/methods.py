"""methods: every method there is, what it needs, and whether it can be priced."""

from dataclasses import dataclass

from snapcli.methods.table import ROWS


@dataclass(frozen=True)
class MethodRow:
    """score: what it computes; needs: what of the run's network, or one of its own. in_integers:
    whether it has a form on the device, which `snap cost` compiles and counts; why_not: if not."""

    name: str
    kind: str
    score: str
    needs: str
    in_integers: bool
    why_not: str
    source: str


def methods() -> tuple[MethodRow, ...]:
    return tuple(
        MethodRow(
            row.name,
            row.kind,
            row.score,
            row.needs,
            row.form is not None,
            row.no_form,
            row.source,
        )
        for row in ROWS
    )
