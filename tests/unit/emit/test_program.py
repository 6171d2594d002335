"""build_program: order, moves and places of a whole network."""

from dataclasses import replace

import numpy as np

from snapcli.emit import Program, Reference, build_program, emit_model
from snapcli.emit.steps import LayerStep, MoveStep, moved
from snapcli.graph import Graph, read_tflite

from ...golden import tflite_op as op
from ..tiny_monitor import tiny_body, tiny_tflite


def separable(blocks: int) -> Graph:
    return read_tflite(separable_tflite(blocks))


def separable_tflite(blocks: int, size: int = 12, channels: int = 8) -> bytes:
    """Depthwise and pointwise layers in turn, every tensor of the same size."""
    rng = np.random.default_rng(1)
    shape = [1, size, size, channels]

    def tensors(weights: tuple[int, ...], axis: int) -> list[op.Tensor]:
        scales = np.full(channels, 0.01, np.float32)
        values = rng.integers(-127, 128, weights).astype(np.int8)
        bias = np.zeros(channels, np.int32)
        return [
            op.Tensor(shape, [0.05], 3),
            op.Tensor(weights, scales, 0, axis, values),
            op.Tensor([channels], 0.05 * scales, data=bias),
        ]

    ops, one = [], (1, 1)
    for _ in range(blocks):
        out = op.Tensor(shape, [0.05], 3)
        spatial = tensors((1, 3, 3, channels), 3)
        ops.append(op.depthwise_conv(spatial, out, "same", one, one, "relu", 1))
        pointwise = tensors((channels, 1, 1, channels), 0)
        ops.append(op.conv(pointwise, out, "same", one, one, "none"))
    return op.flatbuffer(ops, {"y": len(ops) - 1})


def moves(program: Program) -> list[str]:
    return [step.target for step in program.steps if isinstance(step, MoveStep)]


def test_a_chain_of_equal_tensors_needs_one_of_them_and_a_row() -> None:
    program = build_program(separable(4), None, Reference())
    tensor, row, position = 12 * 12 * 8, 12 * 8, 8
    # One percent more is allowed where it saves moves.
    assert program.full.arena_bytes <= 1.01 * (tensor + row + position) + 8
    assert program.live_bytes == 2 * tensor
    assert 0 < len(moves(program)) < 8


def test_a_moved_tensor_is_read_where_it_went() -> None:
    program = build_program(separable(4), None, Reference())
    name = moves(program)[0]
    to = program.full.offsets[moved(name)]
    source = emit_model(program, None, None).files["snap_model.c"]
    pointer, size = program.pointers[name], 12 * 12 * 8
    assert f"{pointer} = snapuq_move_s8({pointer}, {size}, (int8_t *)(base + {to}));" in source


def test_nothing_moves_where_nothing_is_won() -> None:
    assert moves(build_program(separable(1), None, Reference())) == []


def test_the_monitor_changes_no_place_of_the_network() -> None:
    """So that the image without heads is the same network."""
    body = tiny_body()
    with_heads = build_program(body.graph, body, Reference())
    assert with_heads.plain.offsets.items() <= with_heads.full.offsets.items()
    assert with_heads.plain.arena_bytes <= with_heads.full.arena_bytes


def test_outputs_live_to_the_end_taps_of_a_monitor_do_not() -> None:
    graph = read_tflite(tiny_tflite())
    alone = build_program(graph, None, Reference())
    assert set(alone.results) == set(graph.outputs.values())
    last = len(alone.steps) + 1
    living = {b.name for b in alone.full.buffers if b.last == last}
    assert living == set(graph.outputs.values())
    monitored = build_program(graph, replace(tiny_body(), graph=graph), Reference())
    assert monitored.results == ("logits",)


def test_every_layer_is_done_once() -> None:
    graph = separable(3)
    program = build_program(graph, None, Reference())
    done = [step.layer.name for step in program.steps if isinstance(step, LayerStep)]
    assert done == [layer.name for layer in graph.layers]
