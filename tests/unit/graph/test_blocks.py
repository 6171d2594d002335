"""blocks: a tap is a tensor that every path crosses, behind a layer that mixes channels."""

from dataclasses import replace

from snapcli.graph import Graph, Layer, read_tflite
from snapcli.graph.blocks import blocks, lifetimes

from ..tiny_monitor import tiny_tflite


def tiny() -> Graph:
    """stem -> spatial (depthwise) -> block -> mean -> logits; all but the mean are outputs."""
    return read_tflite(tiny_tflite())


def shape_of(graph: Graph) -> list[tuple[list[str], str | None]]:
    return [([layer.name for layer in block.layers], block.tap) for block in blocks(graph)]


def test_a_depthwise_layer_belongs_to_the_layer_that_mixes_its_channels() -> None:
    assert shape_of(tiny()) == [
        (["stem"], "stem"),
        (["spatial", "block"], "block"),
        (["layer_3", "logits"], None),
    ]


def with_shortcut() -> Graph:
    """An addition of stem, through a layer of its own, to block."""
    graph = tiny()
    by_name = {layer.name: layer for layer in graph.layers}
    side = replace(by_name["block"], name="side", sources=("stem",), target="side")
    added = Layer("added", "ADD", by_name["block"].kernel, ("block", "side"), "added")
    mean = replace(by_name["layer_3"], sources=("added",))
    extra = {name: replace(graph.tensors["block"], name=name) for name in ("side", "added")}
    order = (by_name["stem"], by_name["spatial"], by_name["block"], side, added, mean)
    return replace(graph, layers=(*order, by_name["logits"]), tensors={**graph.tensors, **extra})


def test_inside_of_a_branch_there_is_no_tap() -> None:
    assert shape_of(with_shortcut()) == [
        (["stem"], "stem"),
        (["spatial", "block", "side", "added"], "added"),
        (["layer_3", "logits"], None),
    ]


def test_an_activation_ends_the_block_it_follows() -> None:
    graph = tiny()
    by_name = {layer.name: layer for layer in graph.layers}
    swish = Layer("swish", "HARD_SWISH", by_name["layer_3"].kernel, ("stem",), "swish")
    spatial = replace(by_name["spatial"], sources=("swish",))
    tensors = {**graph.tensors, "swish": replace(graph.tensors["stem"], name="swish")}
    layers = (by_name["stem"], swish, spatial, *graph.layers[2:])
    found = shape_of(replace(graph, layers=layers, tensors=tensors))
    assert found[0] == (["stem", "swish"], "swish")


def test_lifetimes_count_layers_from_one() -> None:
    found = lifetimes(replace(with_shortcut(), outputs={"logits": "logits"}))
    assert found["input"] == (0, 1)
    assert found["stem"] == (1, 4)
    assert found["logits"] == (7, 8)
