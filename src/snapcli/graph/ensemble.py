"""Several networks on one input, as one graph."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.graph.passes import simplify


def copies(graph: Graph, logits: str, members: int) -> Graph:
    """The network as often as it has members, each with constants of its own; the outputs are
    logits_0, logits_1 and so on."""
    tensors: dict[str, Tensor] = {}
    layers: list[Layer] = []
    constants: dict[str, NDArray[np.int8]] = {}
    views: dict[str, str] = {}
    outputs: dict[str, str] = {}
    for i in range(members):

        def own(name: str, suffix: str = f"_of_{i}") -> str:
            return name if name in graph.inputs else f"{name}{suffix}"

        tensors |= {own(n): replace(t, name=own(n)) for n, t in graph.tensors.items()}
        constants |= {own(n): values for n, values in graph.constants.items()}
        views |= {own(n): own(shown) for n, shown in graph.views.items()}
        layers += [
            replace(
                layer,
                name=own(layer.name),
                sources=tuple(map(own, layer.sources)),
                target=own(layer.target),
            )
            for layer in graph.layers
        ]
        outputs[f"logits_{i}"] = own(logits)
    every = replace(
        graph,
        tensors=tensors,
        layers=tuple(layers),
        outputs=outputs,
        constants=constants,
        views=views,
    )
    return simplify(every)
