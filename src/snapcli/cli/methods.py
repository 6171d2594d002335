"""snap methods"""

from snapcli import console
from snapcli.cli import render_methods
from snapcli.cli.options import AsJson

EXAMPLES = ("snap methods", "snap methods --json")


def methods(json: AsJson = False) -> None:
    """List every method: its score, what it looks at, whose network it needs, its source."""
    from snapcli.stages.methods import methods as stage

    rows = stage()
    console.print_json(rows) if json else render_methods.table(rows)
