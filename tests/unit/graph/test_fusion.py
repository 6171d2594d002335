"""fuse_residuals: an ADD and its convolution become one layer, if nobody sees the difference."""

from dataclasses import replace

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.graph import Graph, Layer, read_tflite
from snapcli.graph.fusion import fuse_residuals

from ..tiny_monitor import random_inputs, tiny_tflite


def residual(order: tuple[str, str] = ("side", "block")) -> Graph:
    """stem -> spatial -> {block, side} -> added -> mean -> logits; block and side convolve."""
    graph = read_tflite(tiny_tflite())
    layers = {layer.name: layer for layer in graph.layers}
    block = graph.tensors["block"]
    side = replace(block, name="side", scale=0.7 * block.scale, zero_point=4)
    kernel = layers["block"].kernel
    assert isinstance(kernel, fx.ConvS8)
    other = replace(kernel, weights=kernel.weights[::-1].copy())
    by_name = {"block": block, "side": side}
    first, second = (by_name[name] for name in order)
    in1, in2, out = fx.add_multipliers(first.scale, second.scale, 1.3 * block.scale)
    size = block.size_bytes
    points = (first.zero_point, second.zero_point)
    add = fx.AddS8(size, size, size, *points, in1, in2, out, -9, -100, 100)
    return replace(
        graph,
        tensors={**graph.tensors, "side": side, "added": replace(block, name="added")},
        layers=(
            layers["stem"],
            layers["spatial"],
            Layer("side", "CONV_2D", other, ("spatial",), "side"),
            layers["block"],
            Layer("added", "ADD", add, order, "added"),
            replace(layers["layer_3"], sources=("added",)),
            layers["logits"],
        ),
        outputs={"logits": "logits"},
    )


def operators(graph: Graph) -> list[str]:
    return [layer.operator for layer in graph.layers]


def test_who_computes_the_layers_may_not_want_it() -> None:
    graph = residual()
    asked: list[str] = []
    kept = fuse_residuals(graph, {"logits"}, lambda layer: bool(asked.append(layer.operator)))
    assert asked == ["CONV_2D+ADD"]
    assert kept.layers == graph.layers


def test_the_later_convolution_takes_the_sum_in() -> None:
    for order in (("side", "block"), ("block", "side")):
        graph = residual(order)
        fused = fuse_residuals(graph, {"logits"})
        assert operators(fused)[2:4] == ["CONV_2D", "CONV_2D+ADD"]
        assert fused.layers[3].sources == ("spatial", "side")
        assert "block" not in fused.tensors
        x = random_inputs(50)
        for name in ("added", "logits"):
            np.testing.assert_array_equal(
                fused.run(x, {name})[name], graph.run(x, {name})[name], err_msg=name
            )
        assert fused.macs == graph.macs


def test_a_convolution_that_somebody_looks_at_stays() -> None:
    fused = fuse_residuals(residual(), {"logits", "block"})
    assert operators(fused)[2:4] == ["CONV_2D", "CONV_2D+ADD"]
    assert fused.layers[3].sources == ("spatial", "block")
    both = fuse_residuals(residual(), {"logits", "block", "side"})
    assert operators(both) == operators(residual())


def test_a_convolution_that_is_read_twice_stays() -> None:
    graph = residual()
    add = graph.layers[4]
    twice = replace(graph, layers=(*graph.layers[:4], replace(add, sources=("block", "block"))))
    assert operators(fuse_residuals(twice, {"added"})) == operators(twice)


def test_an_operand_that_repeats_stays_an_add() -> None:
    graph = residual()
    add = graph.layers[4]
    assert isinstance(add.kernel, fx.AddS8)
    short = replace(add, kernel=replace(add.kernel, in1_length=9))
    changed = replace(graph, layers=(*graph.layers[:4], short, *graph.layers[5:]))
    assert operators(fuse_residuals(changed, {"logits"})) == operators(changed)
