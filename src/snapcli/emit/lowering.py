"""What a kernel set makes of a layer."""

from dataclasses import dataclass
from typing import Protocol

from snapcli.graph.graph import Graph, Layer


@dataclass(frozen=True)
class Lowered:
    """A layer as C.

    definitions: constants in front of the function that runs the network.
    call: the statement that computes the target.
    kernels: names of the C files of the kernel set that the call needs.
    constant_bytes: flash that the definitions take.
    scratch_bytes: bytes, aligned to 8, that the call uses at the pointer `scratch`.
    slack: one entry per source: the target may overlap that source, if nobody reads it later,
        when it starts at least so many bytes before it; None: they must lie apart.
    """

    definitions: str
    call: str
    kernels: frozenset[str]
    constant_bytes: int
    scratch_bytes: int
    slack: tuple[int | None, ...]


class KernelSet(Protocol):
    """name is what the command line calls it; headers are those that its calls need beside
    snapuq.h."""

    name: str
    headers: tuple[str, ...]

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        """pointers: the C expression of every tensor's first element, by tensor name."""
        ...
