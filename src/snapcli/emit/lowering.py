"""What a kernel set makes of a layer."""

from dataclasses import dataclass
from typing import Protocol

from snapcli.fixedpoint import GaussianHeadS8
from snapcli.graph.graph import Graph, Layer


@dataclass(frozen=True)
class Lowered:
    """A layer as C.

    definitions: constants in front of the function that runs the network.
    call: the statement that computes the target.
    constant_bytes: flash that the definitions take.
    scratch_bytes: bytes, aligned to 8, that the call uses at the pointer `scratch`.
    slack: one entry per source: the target may overlap that source, if nobody reads it later,
        when it starts at least so many bytes before it; None: they must lie apart.
    """

    definitions: str
    call: str
    constant_bytes: int
    scratch_bytes: int
    slack: tuple[int | None, ...]


@dataclass(frozen=True)
class HeadSite:
    """A head and its surroundings in C.

    name: of the constant it becomes. table: the inverse sigmas, which stand elsewhere. sums:
    pointers to the pooled sums before and after the block. result: the uint32_t to write.
    """

    head: GaussianHeadS8
    name: str
    table: str
    sums: tuple[str, str]
    scratch: str
    result: str


class KernelSet(Protocol):
    """name is what the command line calls it; fuses: it computes what graph/fusion.py makes;
    prelude stands in front of the definitions of
    layers, head_header in front of those of heads, which have the C type head_type."""

    name: str
    fuses: bool
    prelude: str
    head_header: str
    head_type: str

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        """pointers: the C expression of every tensor's first element, by tensor name."""
        ...

    def lower_head(self, site: HeadSite) -> Lowered:
        """The constant, and the statement that writes the result."""
        ...
