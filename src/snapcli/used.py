"""What has been used in this process: programs and kernels that shape results note themselves.

So a stage need not know what ran on its behalf, or how many calls below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Use:
    """flags: as they were given, without files. version: None where the tool has to be asked."""

    name: str
    flags: str = ""
    version: str | None = None


_uses: list[Use] = []


def note(name: str, flags: Sequence[str] = (), version: str | None = None) -> None:
    _uses.append(Use(name, " ".join(flags), version))


def mark() -> int:
    """Now, for uses_since()."""
    return len(_uses)


def uses_since(then: int) -> tuple[Use, ...]:
    """Each once, in the order of their first use."""
    return tuple(dict.fromkeys(_uses[then:]))
