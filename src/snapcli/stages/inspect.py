"""inspect: what is in an int8 .tflite, layer by layer."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.emit import Reference, build_program
from snapcli.emit.text import constant_bytes
from snapcli.graph import read_tflite
from snapcli.graph.blocks import blocks, lifetimes
from snapcli.graph.graph import Tensor
from snapcli.graph.reader import model_bytes

SCHEMA = 1


@dataclass(frozen=True)
class TensorView:
    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float
    zero_point: int


@dataclass(frozen=True)
class LayerView:
    """alive: the numbers of the layers that write and last read its output; tap: its output can
    be tapped. sources leaves out constants."""

    number: int
    name: str
    operator: str
    sources: tuple[str, ...]
    shape: tuple[int, ...]
    macs: int
    constant_bytes: int
    output_bytes: int
    alive: tuple[int, int]
    tap: bool


@dataclass(frozen=True)
class InspectReport:
    """blocks are those of graph.blocks; sizes in bytes; arena with the reference kernels, which
    fuse some layers."""

    schema: int
    source: str
    file_bytes: int
    inputs: tuple[TensorView, ...]
    outputs: tuple[TensorView, ...]
    macs: int
    constant_bytes: int
    arena_bytes: int
    live_bytes: int
    blocks: tuple[tuple[LayerView, ...], ...]


def inspect(model: Path) -> InspectReport:
    content = model_bytes(model)
    graph = read_tflite(content)
    program = build_program(graph, None, Reference())
    alive = lifetimes(graph)
    numbers = {layer.name: i for i, layer in enumerate(graph.layers, start=1)}
    views = tuple(
        tuple(
            LayerView(
                number=numbers[layer.name],
                name=layer.name,
                operator=layer.operator,
                sources=tuple(graph.stored(s) for s in layer.sources if s not in graph.constants),
                shape=graph.tensors[layer.target].shape,
                macs=layer.macs,
                constant_bytes=constant_bytes(layer.kernel),
                output_bytes=graph.tensors[layer.target].size_bytes,
                alive=alive[layer.target],
                tap=layer.target == block.tap,
            )
            for layer in block.layers
        )
        for block in blocks(graph)
    )
    return InspectReport(
        schema=SCHEMA,
        source=model.name,
        file_bytes=len(content),
        inputs=tuple(_view(graph.tensors[name]) for name in graph.inputs),
        outputs=tuple(_view(graph.tensors[name]) for name in graph.outputs.values()),
        macs=graph.macs,
        constant_bytes=sum(layer.constant_bytes for block in views for layer in block),
        arena_bytes=program.full.arena_bytes,
        live_bytes=program.live_bytes,
        blocks=views,
    )


def _view(tensor: Tensor) -> TensorView:
    return TensorView(tensor.name, tensor.dtype, tensor.shape, tensor.scale, tensor.zero_point)
