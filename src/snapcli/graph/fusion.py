"""Layers that a kernel set computes in one go."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from snapcli import fixedpoint as fx
from snapcli.graph.graph import Graph, Layer


def fuse_residuals(
    graph: Graph, visible: Collection[str], wanted: Callable[[Layer], bool] = lambda layer: True
) -> Graph:
    """An ADD becomes part of the convolution that feeds it, if nobody else reads that one.

    visible: tensors that somebody looks at from outside. wanted: asked of the layer that would be
    made. Of two convolutions the later one is
    taken: the other's output then waits where the sum goes.
    """
    shown = {graph.stored(name) for name in visible} | {*graph.views.values()}
    readers = Counter(source for layer in graph.layers for source in layer.sources)
    made = {layer.target: (i, layer) for i, layer in enumerate(graph.layers)}
    fused: dict[str, Layer] = {}
    gone: set[str] = set()
    for layer in graph.layers:
        if not isinstance(layer.kernel, fx.AddS8) or layer.operator != "ADD":
            continue
        own = [
            made[source]
            for source in layer.sources
            if source in made
            and source not in shown
            and readers[source] == 1
            and made[source][1].operator == "CONV_2D"
        ]
        lengths = {layer.kernel.length, layer.kernel.in1_length, layer.kernel.in2_length}
        if own and len(lengths) == 1:
            _, conv = max(own, key=lambda candidate: candidate[0])
            made_of_both = _fused(conv, layer)
            if wanted(made_of_both):
                fused[layer.name] = made_of_both
                gone.add(conv.target)
    return replace(
        graph,
        layers=tuple(fused.get(n.name, n) for n in graph.layers if n.target not in gone),
        tensors={name: tensor for name, tensor in graph.tensors.items() if name not in gone},
    )


def _fused(conv: Layer, add: Layer) -> Layer:
    kernel = add.kernel
    assert isinstance(kernel, fx.AddS8)
    assert isinstance(conv.kernel, fx.ConvS8)
    first, second = add.sources
    if second == conv.target:
        # A sum does not depend on the order of its operands.
        kernel = replace(
            kernel,
            in1=kernel.in2,
            in2=kernel.in1,
            in1_zero_point=kernel.in2_zero_point,
            in2_zero_point=kernel.in1_zero_point,
        )
        first, second = second, first
    sources = (conv.sources[0], second)
    return Layer(add.name, "CONV_2D+ADD", fx.ConvAddS8(conv.kernel, kernel), sources, add.target)
