"""What a kernel set makes of a layer."""

from dataclasses import dataclass
from typing import Any, Protocol

from snapcli.emit import distance
from snapcli.emit.text import constant_bytes, struct
from snapcli.fixedpoint import DeviceHead, MahalanobisS8
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
class HeadBuffer:
    """Memory of the arena that a head uses while it runs, as a pointer of C."""

    name: str
    ctype: str
    size_bytes: int


@dataclass(frozen=True)
class HeadSite:
    """A head and its surroundings in C.

    index: of the tap. name, energy: of the constants that head and likelihood become. table: the
    inverse sigmas, which stand elsewhere. sums: pointers to the pooled sums before and after the
    block; bounds: their largest sizes. predicted: the class. result: the uint32_t to write.
    """

    head: DeviceHead
    index: int
    name: str
    energy: str
    table: str
    sums: tuple[str, str]
    bounds: tuple[int, int]
    predicted: str
    result: str

    @property
    def scratch(self) -> HeadBuffer:
        """Behind the call that computes the residuals it begins with the latent."""
        head = self.head.residual
        elements = _fours(head.in_channels) + _fours(head.rank)
        return self._buffer("scratch", "int16_t", 2 * elements)

    @property
    def u(self) -> HeadBuffer:
        return self._buffer("u", "int32_t", 4 * self.head.residual.rows)

    @property
    def inverse_sigma(self) -> HeadBuffer | None:
        """For the likelihoods that look at it."""
        if not self.head.energy.takes_inverse_sigma:
            return None
        return self._buffer("sigma", "uint16_t", 2 * self.head.residual.rows)

    @property
    def work(self) -> HeadBuffer | None:
        """For an energy that works in floating point."""
        floats = self.head.energy.work_floats
        return self._buffer("work", "float", 4 * floats) if floats else None

    @property
    def buffers(self) -> tuple[HeadBuffer, ...]:
        buffers = (self.scratch, self.u, self.inverse_sigma, self.work)
        return tuple(buffer for buffer in buffers if buffer)

    def _buffer(self, name: str, ctype: str, size_bytes: int) -> HeadBuffer:
        return HeadBuffer(f"head_{name}_{self.index}", ctype, size_bytes)


@dataclass(frozen=True)
class LoweredResidual:
    """The residuals of a head as C: the type of the constant and its definition, the statement
    that computes them, flash that the constant takes."""

    ctype: str
    definitions: str
    call: str
    constant_bytes: int


@dataclass(frozen=True)
class LoweredHead:
    """A head as C: declarations of its constants, their definitions, the statements that write
    the result, flash bytes and memory."""

    declarations: tuple[str, ...]
    definitions: str
    calls: tuple[str, ...]
    constant_bytes: int
    buffers: tuple[HeadBuffer, ...]


@dataclass(frozen=True)
class DistanceSite:
    """The distances and their surroundings in C. total: the pointer to the pooled sums; bound:
    their largest size. answer: an expression."""

    head: MahalanobisS8
    total: str
    bound: int
    answer: str

    def lowered(self, function: str, parameters: Any) -> Lowered:
        """parameters: as the function takes them."""
        given = f"&{distance.NAME}, {self.total}, {self.answer}, {distance.SCRATCH}"
        return Lowered(
            definitions=struct(parameters, distance.NAME, {}),
            call=f"{distance.RESULT} =\n        {function}({given});",
            constant_bytes=constant_bytes(parameters),
            scratch_bytes=2 * (_fours(self.head.channels) + _fours(self.head.rank)),
            slack=(None,),
        )


def _fours(length: int) -> int:
    """What kernels fill up with zeros."""
    return -(-length // 4) * 4


class KernelSet(Protocol):
    """name is what the command line calls it; prelude stands in front of the definitions of
    layers, head_header in front of those of heads."""

    name: str
    prelude: str
    head_header: str

    def fuses(self, layer: Layer) -> bool:
        """Whether it computes this layer, which graph/fusion.py would make of two, as well as
        the two."""
        ...

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        """pointers: the C expression of every tensor's first element, by tensor name."""
        ...

    def lower_residual(self, site: HeadSite) -> LoweredResidual: ...

    def lower_distance(self, site: DistanceSite) -> Lowered: ...
