"""The table of methods, and where each was published."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapcli import console

if TYPE_CHECKING:
    from snapcli.stages.methods import MethodRow

_COLUMNS = ("method", "score", "needs", "int8")


def table(methods: "Sequence[MethodRow]") -> None:
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
