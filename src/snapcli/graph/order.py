"""An order of layers that keeps less alive at once."""

from collections.abc import Callable, Collection

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
    needs = [{made_by[s] for s in sources if s in made_by} for sources in stored]
    readers = {
        name: frozenset(i for i, sources in enumerate(stored) if name in sources)
        for name in graph.tensors
    }
    kept = {graph.stored(name) for name in results}
    size = {name: tensor.size_bytes for name, tensor in graph.tensors.items()}

    start = sum(size[name] for name in graph.inputs)
    # {layers done: (peak bytes, bytes alive, the order that led here)}
    states: dict[frozenset[int], tuple[int, int, tuple[int, ...]]] = {
        frozenset(): (start, start, ())
    }
    for _ in layers:
        found: dict[frozenset[int], tuple[int, int, tuple[int, ...]]] = {}
        for done, (peak, alive, path) in states.items():
            for i in range(len(layers)):
                if i in done or not needs[i] <= done:
                    continue
                after = done | {i}
                dying = {s for s in stored[i] if readers[s] <= after and s not in kept}
                freed = sum(size[s] for s in dying)
                during = alive - freed + joint_bytes(layers[i], dying)
                state = (
                    max(peak, during),
                    alive - freed + size[layers[i].target],
                    (*path, i),
                )
                if after not in found or state < found[after]:
                    found[after] = state
        best = sorted(found.items(), key=lambda item: item[1])[:_BEAM]
        states = dict(best)
    ((_, _, path),) = states.values()
    return tuple(layers[i] for i in path)
