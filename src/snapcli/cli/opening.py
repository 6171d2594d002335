"""How commands open a run: which command it waits for, and whose code may run."""

from pathlib import Path
from typing import TYPE_CHECKING

from snapcli import console
from snapcli.errors import ArtifactError

if TYPE_CHECKING:
    from snapcli.runs import Run


def opened(
    run: Path | None, runs_dir: Path, no_wait: bool = False, allow_code: bool = False
) -> "Run":
    from snapcli import usercode
    from snapcli.runs import open_run

    usercode.allow_code(allow_code)
    chosen = open_run(run, runs_dir, console.note)
    # Now, and not when hours of work are to be stored: from there on it waits its turn.
    user = chosen.busy() if no_wait else None
    if user:
        raise ArtifactError(
            f"{chosen.name} is in use by {user}",
            "Try again when that has ended, or leave --no-wait out to wait for it.",
        )
    return chosen
