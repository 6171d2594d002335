"""How a long stage tells how far it is."""

from collections.abc import Callable

OnProgress = Callable[[int, int, str], None]
"""Called with (done, total, detail)."""


def silent(done: int, total: int, detail: str) -> None:
    """For callers that do not show progress."""
