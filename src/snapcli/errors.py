"""The only exception tree. Each class fixes the exit code of the program."""

from collections.abc import Iterable
from difflib import get_close_matches


def sentences(*hints: str | None) -> str:
    """Hints in a row, each with its full stop."""
    return " ".join(hint if hint.endswith(".") else f"{hint}." for hint in hints if hint)


def shown(value: object, most: int = 80) -> str:
    """What stands in a file, fit for one line of a message: at most so many characters."""
    return "".join(c if c.isprintable() else "?" for c in str(value)[:most])


def first_line(error: BaseException) -> str:
    """Of what another library says, fit for one line of a message."""
    lines = str(error).strip().splitlines() or ["no message"]
    return shown(lines[0], 200)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for a name that does not exist: the one that was probably meant, or all."""
    candidates = list(known)
    close = get_close_matches(name, candidates, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known: {', '.join(candidates)}."


class SnapError(Exception):
    """A problem the user can act on.

    message says what is wrong in one line, hint says what to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SnapError):
    """A command-line value that means nothing: an unknown data set, target, layer."""

    exit_code = 2


class ConfigError(SnapError):
    """A recipe or option combination that cannot work."""

    exit_code = 3


class ArtifactError(SnapError):
    """A file of a run is missing, stale, truncated or not what we wrote."""

    exit_code = 4


class ToolchainError(SnapError):
    """A compiler, emulator or Python extra is missing or failed."""

    exit_code = 5


class DeviceError(SnapError):
    """The board or the emulator cannot be reached, or talks nonsense."""

    exit_code = 6


class InterruptedRunError(SnapError):
    """Ctrl-C, where there is something to say about how to go on."""

    exit_code = 130


class CheckError(SnapError):
    """A result differs from its reference."""

    exit_code = 7
