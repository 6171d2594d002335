"""snap doctor"""

import typer

from snapcli import console
from snapcli.cli.options import AsJson

EXAMPLES = (
    "snap doctor",
    "snap doctor --json",
)


def doctor(json: AsJson = False) -> None:
    """Say what is installed, what is missing, how to get it."""
    from snapcli.errors import ToolchainError
    from snapcli.stages.doctor import doctor as stage

    report = stage()
    if json:
        console.print_json(report)
    else:
        rows = [(c.name, c.version or "missing", c.needed_for) for c in report.checks]
        console.table("snap doctor", ("what", "version", "needed for"), rows)
        # Outside of the table, where a narrow terminal does not cut them off.
        for remedy in dict.fromkeys(c.remedy for c in report.checks if c.remedy):
            console.say(f"To install what is missing: {remedy}")
        for warning in report.warnings:
            console.say(f"Note: {warning}")
    if report.missing:
        raise typer.Exit(ToolchainError.exit_code)
    if not json:
        console.say("Everything that snap needs is here.")
