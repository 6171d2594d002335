"""The least that a kernel can cost: its inner loop, counted in the head of its own C file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapcli.emit.closure import needed_files
from snapcli.emit.text import LICENCE_COMMENT

_HEAD = re.compile(r"\s*/\*.*?\*/", re.DOTALL)
# A comment may break the line anywhere.
_COUNT = re.compile(
    r"\bInner loop: (\d+) instructions for (\d+) MACs\b".replace(" ", r"[\s*]+"),
)


@dataclass(frozen=True)
class InnerLoop:
    """What one round executes, and how many multiply-accumulates it does."""

    instructions: int
    macs: int

    @property
    def per_mac(self) -> float:
        return self.instructions / self.macs


def inner_loop(text: str) -> InnerLoop | None:
    """As the comment at the top of a C file says, behind the licence's; None where it says
    nothing."""
    head = _HEAD.match(text.removeprefix(LICENCE_COMMENT))
    count = _COUNT.search(head[0]) if head else None
    return InnerLoop(int(count[1]), int(count[2])) if count else None


def bounds(kernels: Iterable[str], library: Mapping[str, str]) -> dict[str, float]:
    """{kernel: instructions per MAC of its inner loop}; kernels: C functions. library: {path: C
    text}. Those that call no file with a counted loop are left out.

    Of several loops the cheapest counts: what a tile leaves over has a loop of its own, and no
    kernel can be quicker than its quickest.
    """
    loops = {path: loop for path, text in library.items() if (loop := inner_loop(text))}
    bounds: dict[str, float] = {}
    for kernel in set(kernels) if loops else ():
        needed = needed_files(library, [f"{kernel}("])
        if mine := [loops[path].per_mac for path in needed if path in loops]:
            bounds[kernel] = min(mine)
    return bounds
