"""The six stages. Each takes a run and its options and returns a report; none prints or exits."""

from collections.abc import Callable

OnProgress = Callable[[int, int, str], None]
"""Called with (done, total, detail)."""


def silent(done: int, total: int, detail: str) -> None:
    """For callers that do not show progress."""
