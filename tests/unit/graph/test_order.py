"""smallest_order: branches are computed when they cost least."""

from collections.abc import Collection

from snapcli import fixedpoint as fx
from snapcli.graph import Graph, Layer, Tensor
from snapcli.graph.order import smallest_order

ANY = fx.MeanS8(1, 1, 0, 0, fx.Multiplier(0, 0))


def graph_of(sizes: dict[str, int], work: list[tuple[str, tuple[str, ...]]]) -> Graph:
    """work: (target, its sources); the first tensor is the input, the last target the output."""
    tensors = {name: Tensor(name, (size,), 1.0, 0) for name, size in sizes.items()}
    layers = tuple(Layer(target, "MEAN", ANY, sources, target) for target, sources in work)
    return Graph(tensors, layers, (next(iter(sizes)),), {"y": work[-1][0]}, {})


def apart(graph: Graph):
    def joint(layer: Layer, dying: Collection[str]) -> int:
        return graph.tensors[layer.target].size_bytes + sum(
            graph.tensors[name].size_bytes for name in dying
        )

    return joint


def names(graph: Graph) -> list[str]:
    found = smallest_order(graph, set(graph.outputs.values()), apart(graph))
    assert sorted(layer.name for layer in found) == sorted(layer.name for layer in graph.layers)
    done = set(graph.inputs)
    for layer in found:
        assert set(layer.sources) <= done
        done.add(layer.target)
    return [layer.name for layer in found]


def test_a_branch_that_shrinks_goes_first() -> None:
    """File order: both large tensors are alive together; finishing one branch first avoids it."""
    sizes = {"x": 10, "a": 100, "b": 100, "a2": 1, "b2": 1, "y": 2}
    work = [("a", ("x",)), ("b", ("x",)), ("a2", ("a",)), ("b2", ("b",)), ("y", ("a2", "b2"))]
    assert names(graph_of(sizes, work)) == ["a", "a2", "b", "b2", "y"]


def test_the_input_is_let_go_early_where_it_is_what_costs() -> None:
    """x is large and read twice: read it out at once, then work on what came of it."""
    sizes = {"x": 100, "a": 5, "a2": 50, "b": 5, "y": 1}
    work = [("a", ("x",)), ("a2", ("a",)), ("b", ("x",)), ("y", ("a2", "b"))]
    assert names(graph_of(sizes, work)) == ["a", "b", "a2", "y"]


def test_a_chain_stays_as_it_is() -> None:
    sizes = {f"t{i}": 10 * (7 - i) for i in range(6)}
    work = [(f"t{i + 1}", (f"t{i}",)) for i in range(5)]
    assert names(graph_of(sizes, work)) == [target for target, _ in work]


def test_equal_branches_stay_in_the_order_of_the_file() -> None:
    sizes = {"x": 10, "a": 10, "b": 10, "y": 10}
    assert names(graph_of(sizes, [("a", ("x",)), ("b", ("x",)), ("y", ("a", "b"))])) == list("aby")
