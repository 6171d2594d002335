"""What a monitor needs to know of a classifier that somebody else converted."""

from dataclasses import replace
from itertools import pairwise

from snapcli.errors import ArtifactError, UsageError, suggestion
from snapcli.graph.blocks import blocks
from snapcli.graph.graph import Graph, Layer

_FROM_FLOAT, _TO_FLOAT = "QUANTIZE_F32", "DEQUANTIZE"


def classifier(graph: Graph) -> Graph:
    """The same network between int8 ends: what converts real numbers at its ends is cut off.

    Raises ArtifactError unless it has one input and gives one number for each of several classes.
    """
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise ArtifactError(
            f"the model has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs",
            "A monitor needs a classifier with one of each.",
        )
    graph = _without_dequantize(_without_quantize(graph))
    for name in (graph.input, *graph.outputs.values()):
        if graph.tensors[name].dtype != "int8":
            raise ArtifactError(
                f"tensor '{name}' at an end of the model is {graph.tensors[name].dtype}",
                "Quantize the whole model to int8.",
            )
    answers = graph.tensors[logits_of(graph)]
    if answers.positions != 1 or answers.channels < 2:
        shape = "x".join(str(d) for d in answers.shape)
        raise ArtifactError(
            f"the model's output is {shape}, no classifier's of two or more classes",
            "Give a model whose output is one number for each class.",
        )
    return graph


def logits_of(graph: Graph) -> str:
    """The tensor in front of the softmax, or the output of a model that has none."""
    output = graph.outputs.get("logits") or next(iter(graph.outputs.values()))
    last = _writer(graph, output)
    return last.sources[0] if last and last.operator == "SOFTMAX" else output


def tap_pairs(graph: Graph) -> list[tuple[str, str]]:
    """(before, after): the ends of every block and of the one in front of it."""
    ends = [block.tap for block in blocks(graph) if block.tap]
    return list(pairwise(ends))


def named_pairs(graph: Graph, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Taps as a user names them: a tensor, which is predicted from the block in front of it, or
    two with a colon; in the order of depth."""
    depth = {layer.target: i for i, layer in enumerate(graph.layers)}
    ends = [block.tap for block in blocks(graph) if block.tap]

    def known(name: str) -> str:
        stored = graph.stored(name)
        if stored not in depth:
            raise UsageError(
                f"the model has no tensor '{name}' that can be tapped",
                f"{suggestion(name, [*depth])} Its blocks end at {', '.join(ends)}.",
            )
        return stored

    named = []
    for name in names:
        first, colon, second = name.partition(":")
        after = known(second if colon else first)
        earlier = [end for end in ends if depth[end] < depth[after]]
        if not colon and not earlier:
            raise UsageError(
                f"'{name}' has no block in front of it to be predicted from",
                f"Name another: {', '.join(ends[1:])}." if ends[1:] else "Name two: before:after",
            )
        before = known(first) if colon else earlier[-1]
        if depth[before] >= depth[after]:
            raise UsageError(f"'{before}' does not come before '{after}'", f"Swap them in {name}.")
        named.append((before, after))
    pairs = sorted(dict.fromkeys(named), key=lambda pair: depth[pair[1]])
    for (_, one), (_, other) in pairwise(pairs):
        if one == other:
            raise UsageError(f"two taps predict '{one}'", "Keep one of them.")
    return pairs


def _writer(graph: Graph, name: str) -> Layer | None:
    stored = graph.stored(name)
    return next((layer for layer in graph.layers if layer.target == stored), None)


def _without_quantize(graph: Graph) -> Graph:
    readers = [layer for layer in graph.layers if graph.input in layer.sources]
    if [layer.operator for layer in readers] != [_FROM_FLOAT]:
        return graph
    return _cut(graph, readers[0], inputs=(readers[0].target,))


def _without_dequantize(graph: Graph) -> Graph:
    ((key, output),) = graph.outputs.items()
    last = _writer(graph, output)
    if last is None or last.operator != _TO_FLOAT:
        return graph
    return _cut(graph, last, outputs={key: last.sources[0]})


def _cut(
    graph: Graph,
    layer: Layer,
    inputs: tuple[str, ...] | None = None,
    outputs: dict[str, str] | None = None,
) -> Graph:
    """Without a layer at an end, and without the tensor of real numbers outside of it."""
    return replace(
        graph,
        tensors={
            name: t
            for name, t in graph.tensors.items()
            if t.dtype != "float32" or name not in (*layer.sources, layer.target)
        },
        layers=tuple(other for other in graph.layers if other is not layer),
        inputs=inputs or graph.inputs,
        outputs=outputs or graph.outputs,
    )
