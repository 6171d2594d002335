"""Ctrl-C in the middle of a run: what is kept, and how to go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snapcli.errors import InterruptedRunError

if TYPE_CHECKING:
    from snapcli.runs import Run


@contextmanager
def resumable(run: "Run") -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if not run.has_begun():
            raise
        raise InterruptedRunError(
            f"{run.name} was interrupted; its finished stages and epochs are kept",
            f"Go on with: {run.next_command()}",
        ) from None
