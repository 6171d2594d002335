"""An order of layers that keeps less alive at once."""

from collections.abc import Callable, Collection, Iterable

from snapcli.graph.graph import Graph, Layer

# States that are followed at once; a network of few branches has fewer at any time.
_BEAM = 64


def smallest_order(
    graph: Graph, results: Collection[str], joint_bytes: Callable[[Layer, Collection[str]], int]
) -> tuple[Layer, ...]:
    """The layers in the order of least memory found by a beam search; stable where nothing is won.

    results: tensors that live to the end. joint_bytes(layer, dying): bytes that its target needs
    beside those sources that live on, when the stored tensors `dying` are read for the last time.
    """
    layers = graph.layers
    stored = [{graph.stored(s) for s in layer.sources} - graph.constants.keys() for layer in layers]
    made_by = {layer.target: i for i, layer in enumerate(layers)}
    # Sets of layers are bits of an integer.
    needs = [_mask(made_by[s] for s in sources if s in made_by) for sources in stored]
    readers = dict.fromkeys(graph.tensors, 0)
    for i, sources in enumerate(stored):
        for name in sources:
            readers[name] |= 1 << i
    kept = {graph.stored(name) for name in results}
    size = {name: tensor.size_bytes for name, tensor in graph.tensors.items()}

    start = sum(size[name] for name in graph.inputs)
    # {layers done: (peak bytes, bytes alive, the order that led here)}
    states: dict[int, tuple[int, int, tuple[int, ...]]] = {0: (start, start, ())}
    for _ in layers:
        best_of: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        for done, (peak, alive, path) in states.items():
            for i, layer in enumerate(layers):
                if done >> i & 1 or needs[i] & ~done:
                    continue
                after = done | 1 << i
                dying = {s for s in stored[i] if not readers[s] & ~after and s not in kept}
                freed = sum(size[s] for s in dying)
                during = alive - freed + joint_bytes(layer, dying)
                state = (max(peak, during), alive - freed + size[layer.target], (*path, i))
                if after not in best_of or state < best_of[after]:
                    best_of[after] = state
        states = dict(sorted(best_of.items(), key=lambda item: item[1])[:_BEAM])
    ((_, _, path),) = states.values()
    return tuple(layers[i] for i in path)


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in set(numbers))
