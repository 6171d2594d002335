"""snap methods"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.options import AsJson

if TYPE_CHECKING:
    from snapcli.stages.methods import MethodRow

EXAMPLES = ("snap methods", "snap methods --json")
_COLUMNS = ("method", "score", "needs", "int8")


def methods(json: AsJson = False) -> None:
    """List every method: its score, what it looks at, whose network it needs, its source."""
    from snapcli.stages.methods import methods as stage

    rows = stage()
    console.print_json(rows) if json else show(rows)


def show(methods: "Sequence[MethodRow]") -> None:
    rows = [(row.name, row.score, row.needs, "yes" if row.in_integers else "no") for row in methods]
    console.table("methods", _COLUMNS, rows)
    console.say(
        "needs: of the run's network logits, features (what the last layer takes), taps (their "
        "pooled channels) or heads, or a network of its own that is trained.\nint8: whether it has "
        "a form in integers; snap cost compiles and counts those, snap eval judges all."
    )
    for why in dict.fromkeys(row.why_not for row in methods if row.why_not):
        console.say(f"no: {why}: {', '.join(row.name for row in methods if row.why_not == why)}")
    console.say("\nPublished in")
    for source in dict.fromkeys(row.source for row in methods):
        names = ", ".join(row.name for row in methods if row.source == source)
        console.say(f"- {names}: {source}")
