"""The blocks of a network: where a head could tap it."""

from dataclasses import dataclass

from snapcli.graph.graph import Graph, Layer

# Layers that mix channels; a block has at least one.
_MIXING = ("CONV_2D", "FULLY_CONNECTED")
# Layers that only finish what the one before began.
_FINISHING = ("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "QUANTIZE")


@dataclass(frozen=True)
class Block:
    """Layers between two tensors that all paths through the network cross; tap is the tensor
    that ends it, None for the classifier."""

    layers: tuple[Layer, ...]
    tap: str | None


def blocks(graph: Graph) -> tuple[Block, ...]:
    """In the order of the layers; the last one is the classifier, or what there is of it."""
    lives = _lives(graph)
    blocks_so_far: list[Block] = []
    current: list[Layer] = []
    for i, layer in enumerate(graph.layers):
        current.append(layer)
        following = graph.layers[i + 1] if i + 1 < len(graph.layers) else None
        crossing = [name for name, (first, last) in lives.items() if first <= i + 1 < last]
        mixes = any(step.operator in _MIXING for step in current)
        finished = following is None or following.operator not in _FINISHING
        if mixes and finished and crossing == [layer.target]:
            blocks_so_far.append(Block(tuple(current), layer.target))
            current = []
    # Behind the last layer that mixes channels there is nothing left to predict.
    if not any(layer.operator in _MIXING for layer in current) and blocks_so_far:
        current = [*blocks_so_far.pop().layers, *current]
    return (*blocks_so_far, Block(tuple(current), None)) if current else tuple(blocks_so_far)


def lifetimes(graph: Graph) -> dict[str, tuple[int, int]]:
    """{stored tensor: (number of the layer that writes it, of the last one that reads it)}.

    Layers count from 1; an input is written at 0, an output read after the last layer.
    """
    lives = _lives(graph)
    for name in graph.outputs.values():
        stored = graph.stored(name)
        lives[stored] = (lives[stored][0], len(graph.layers) + 1)
    return lives


def _lives(graph: Graph) -> dict[str, tuple[int, int]]:
    """lifetimes() among the layers alone: that somebody outside looks does not matter."""
    lives = dict.fromkeys(graph.inputs, (0, 0))
    for i, layer in enumerate(graph.layers, start=1):
        lives[layer.target] = (i, i)
        for source in layer.sources:
            name = graph.stored(source)
            if name not in graph.constants:
                lives[name] = (lives[name][0], i)
    return lives
