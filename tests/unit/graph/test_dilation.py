"""Dilated convolutions as TFLite writes them for an open batch: one layer, equal to LiteRT's
reference kernels on the operators it was taken apart into."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from hypothesis import given, settings
from hypothesis import strategies as st

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph import litert, read_tflite

from ...conftest import need
from ...golden import tflite_op as op
from .reference import assert_equals_reference, random_values
from .test_reader_operators import edited, like, weighted

pytestmark = pytest.mark.slow

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Apart:
    """A dilated convolution and how it is taken apart; along one axis it has a view on either
    side, which adds an axis there (1 or 2)."""

    size: Sequence[int]
    kernel: Sequence[int]
    block: Sequence[int]
    padding: Pairs
    crops: Pairs
    depthwise: bool = False
    activation: str = "none"
    added: int = 1
    in_c: int = 3
    out_c: int = 6
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    inner_padding: str = "valid"

    @property
    def flat(self) -> bool:
        return len(self.size) == 1

    @property
    def outputs(self) -> list[int]:
        return [
            (sum(pad) + size) // block * block - (kernel - 1) * block - sum(crop)
            for size, kernel, block, pad, crop in zip(
                self.size, self.kernel, self.block, self.padding, self.crops, strict=True
            )
        ]

    def operators(self) -> list[op.OneOp]:
        batch = math.prod(self.block)
        image = like([1, *self.size, self.in_c])
        phases = [
            (size + sum(pad)) // block
            for size, pad, block in zip(self.size, self.padding, self.block, strict=True)
        ]
        split = op.space_to_batch(
            image, like([batch, *phases, self.in_c]), self.block, self.padding
        )
        made = [size - k + 1 for size, k in zip(phases, self.kernel, strict=True)]
        kernel = [*self.kernel]
        steps = [split]
        if self.flat:
            for sizes in (phases, made, kernel):
                sizes.insert(self.added - 1, 1)
            lifted = like([batch, *phases, self.in_c])
            steps.append(op.expand_dims(split.output, lifted, self.added))
        source = steps[-1].output
        steps.append(self._convolution(source, kernel, [batch, *made, self.out_c]))
        if self.flat:
            made.pop(self.added - 1)
            dropped = op.Tensor([batch, *made, self.out_c], [0.06], 4)
            wanted = [-1, *dropped.shape[1:]]
            steps.append(op.reshape(steps[-1].output, dropped, wanted))
        target = op.Tensor([1, *self.outputs, self.out_c], [0.06], 4)
        steps.append(op.batch_to_space(steps[-1].output, target, self.block, self.crops))
        return steps

    def _convolution(
        self, source: op.Tensor, kernel: Sequence[int], out: Sequence[int]
    ) -> op.OneOp:
        options = (self.inner_padding, self.stride, self.dilation, self.activation)
        if self.depthwise:
            parts = weighted(source, (1, *kernel, self.out_c), 3, out)
            return op.depthwise_conv(*parts, *options, multiplier=self.out_c // self.in_c)
        return op.conv(*weighted(source, (self.out_c, *kernel, self.in_c), 0, out), *options)

    def content(self) -> bytes:
        steps = self.operators()
        return op.flatbuffer(steps, {"out": len(steps) - 1})


def proven(apart: Apart) -> fx.ConvS8:
    """The only layer's kernel, after a comparison with the reference."""
    graph = assert_equals_reference(apart.content())
    (layer,) = graph.layers
    assert layer.operator == ("DEPTHWISE_CONV_2D" if apart.depthwise else "CONV_2D")
    assert graph.tensors[layer.target].shape == (*apart.outputs, apart.out_c)
    assert isinstance(layer.kernel, fx.ConvS8)
    return layer.kernel


SAME = Apart((9, 11), (3, 3), (2, 2), ((2, 3), (2, 3)), ((0, 1), (0, 1)))
LINE = Apart((17,), (3,), (2,), ((2, 3),), ((0, 1),))


@pytest.mark.parametrize(
    ("apart", "padding"),
    [
        (SAME, (2, 2)),
        (Apart((9, 11), (3, 3), (3, 3), ((3, 3), (3, 4)), ((0, 0), (0, 1))), (3, 3)),
        (Apart((9, 11), (3, 3), (2, 2), ((0, 1), (0, 1)), ((0, 1), (0, 1))), (0, 0)),
        (Apart((9, 11), (3, 3), (1, 2), ((1, 1), (2, 3)), ((0, 0), (0, 1))), (1, 2)),
        (Apart((9, 11), (3, 3), (3, 1), ((3, 3), (1, 1)), ((0, 0), (0, 0))), (3, 1)),
        (Apart((9, 11), (2, 4), (2, 2), ((1, 2), (3, 4)), ((0, 1), (0, 1))), (1, 3)),
        (Apart((9, 11), (3, 3), (2, 2), ((4, 3), (3, 4)), ((2, 1), (1, 2))), (2, 2)),
        (Apart((9, 11), (1, 1), (2, 2), ((0, 1), (0, 1)), ((0, 1), (0, 1))), (0, 0)),
        (LINE, (0, 2)),
        (Apart((17,), (3,), (4,), ((3, 4),), ((0, 2),), added=2), (3, 0)),
    ],
)
@pytest.mark.parametrize("depthwise", [False, True])
def test_it_is_one_layer_again(apart: Apart, padding: tuple[int, int], depthwise: bool) -> None:
    kernel = proven(replace(apart, depthwise=depthwise))
    block = [*apart.block]
    if apart.flat:
        block.insert(apart.added - 1, 1)
    assert [kernel.dilation_h, kernel.dilation_w] == block
    assert (kernel.pad_top, kernel.pad_left) == padding


@pytest.mark.parametrize("activation", ["relu", "relu6", "relu_n1_to_1"])
def test_it_keeps_a_fused_activation(activation: str) -> None:
    kernel = proven(replace(SAME, activation=activation))
    assert (kernel.out.min, kernel.out.max) != (-128, 127)


@st.composite
def aparts(draw: st.DrawFn) -> Apart:
    """Sizes, blocks, paddings and crops whose windows all reach the image."""
    count = draw(st.integers(1, 2))
    axes = [draw(axes_apart()) for _ in range(count)]
    size, kernel, block, padding, crops = zip(*axes, strict=True)
    rest = {
        "depthwise": draw(st.booleans()),
        "activation": draw(st.sampled_from(["none", "relu", "relu6"])),
        "added": draw(st.integers(1, 2)),
        "in_c": draw(st.integers(1, 3)),
        "out_c": 6,
    }
    return Apart(size, kernel, block, padding, crops, **rest)


@st.composite
def axes_apart(draw: st.DrawFn) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    size, kernel, block = draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    reach = (kernel - 1) * block + 1
    start, pad = draw(st.integers(0, 3)), draw(st.integers(0, reach - 1))
    before = start + pad
    out = draw(st.integers(1, pad + size))
    end = draw(st.integers(0, 3))
    after = max(start + out + end + reach - 1 - before - size, 0)
    after += -(before + size + after) % block
    end = before + size + after - reach + 1 - start - out
    return size, kernel, block, (before, after), (start, end)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(aparts())
def test_any_sizes_blocks_paddings_and_crops(apart: Apart) -> None:
    proven(apart)


@pytest.mark.parametrize("apart", [SAME, LINE])
def test_it_has_the_name_and_the_number_of_the_last_tensor(apart: Apart, tmp_path: Path) -> None:
    """So that every layer can be compared with TFLite; the parts in between have no names."""
    steps = apart.operators()
    relu = op.elementwise("RELU", steps[-1].output, steps[-1].output)

    def rename(model: Any, graph: Any) -> None:
        graph.tensors[graph.operators[0].outputs[0]].name = "model/wide/Conv2D/SpaceToBatchND"
        graph.tensors[graph.operators[-2].outputs[0]].name = "model/wide/Conv2D/BatchToSpaceND"

    content = edited(op.flatbuffer([*steps, relu], {"out": len(steps)}), rename)
    graph = read_tflite(content)
    assert [layer.name for layer in graph.layers] == ["wide", "out"]
    x = random_values(graph, 2, seed=1)
    litert.write_question(tmp_path, content, graph, x)
    litert.answer(tmp_path)
    expected = litert.read_answer(tmp_path, graph)
    assert {"wide", "out"} <= {*expected}
    found = graph.run(x, {"wide"})
    np.testing.assert_array_equal(found["wide"], expected["wide"], strict=True)


def test_constants_may_be_shared_and_parts_may_stand_apart() -> None:
    """Two in a row on the same image, their operators mixed."""
    steps = SAME.operators()
    model = op.Model()
    image = model.input(steps[0].inputs[0])
    first, second = (model.apply(steps[0], image)[0] for _ in range(2))
    first, second = (model.apply(steps[1], index)[0] for index in (first, second))
    first, second = (model.apply(steps[2], index)[0] for index in (first, second))
    graph = assert_equals_reference(model.flatbuffer({"a": first, "b": second}))
    assert [layer.operator for layer in graph.layers] == ["CONV_2D"] * 2


def conv(rate: int | tuple[int, int], padding: str) -> Callable[[Any, Any], Any]:
    def build(layers: Any, x: Any) -> Any:
        return layers.Conv2D(
            4,
            3,
            padding=padding,
            dilation_rate=rate,
            activation="relu",
            bias_initializer="random_normal",
        )(x)

    return build


def depthwise(rate: int, padding: str) -> Callable[[Any, Any], Any]:
    def build(layers: Any, x: Any) -> Any:
        y = layers.DepthwiseConv2D(3, padding=padding, dilation_rate=rate, depth_multiplier=2)(x)
        return layers.ReLU(6.0)(layers.BatchNormalization()(y))

    return build


def line(padding: str) -> Callable[[Any, Any], Any]:
    def build(layers: Any, x: Any) -> Any:
        y = layers.Conv1D(4, 3, padding=padding, dilation_rate=2)(x)
        return layers.Conv1D(4, 3, padding=padding, dilation_rate=4, activation="relu")(y)

    return build


def separable_line(layers: Any, x: Any) -> Any:
    return layers.SeparableConv1D(5, 3, padding="same", dilation_rate=2)(x)


def pyramid(layers: Any, x: Any) -> Any:
    """Branches of growing dilation that end in one tensor, with a shortcut around them."""
    branches = [layers.Conv2D(1, 3, padding="same", dilation_rate=rate)(x) for rate in (1, 2, 3)]
    return layers.Add()([x, layers.Concatenate()(branches)])


CONVERTED: dict[str, tuple[tuple[int, ...], Callable[[Any, Any], Any], int]] = {
    **{
        f"{build.__name__}_{rate}_{padding}": ((9, 11, 3), build(rate, padding), 1)
        for build in (conv, depthwise)
        for rate in (2, 3)
        for padding in ("same", "valid")
    },
    "one_axis": ((9, 11, 3), conv((1, 2), "same"), 1),
    "other_axis": ((8, 7, 3), conv((3, 1), "valid"), 1),
    **{f"line_{padding}": ((17, 3), line(padding), 2) for padding in ("same", "valid", "causal")},
    "separable_line": ((17, 3), separable_line, 1),
    "pyramid": ((9, 11, 3), pyramid, 2),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_what_tensorflow_converts_with_an_open_batch(name: str) -> None:
    need(tensorflow=True)
    from benchmarks.models import random_tflite

    shape, build, count = CONVERTED[name]
    content = random_tflite(build, shape)
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    codes = [model.operatorCodes[o.opcodeIndex].builtinCode for o in model.subgraphs[0].operators]
    # Were the batch not open, this would prove nothing.
    assert codes.count(schema.BuiltinOperator.SPACE_TO_BATCH_ND) == count
    graph = assert_equals_reference(content)
    dilated = [
        layer
        for layer in graph.layers
        if isinstance(layer.kernel, fx.ConvS8)
        and max(layer.kernel.dilation_h, layer.kernel.dilation_w) > 1
    ]
    assert len(dilated) == count
    assert all(graph.tensors[layer.target].index is not None for layer in dilated)


def chain(*steps: op.OneOp) -> bytes:
    return op.flatbuffer(steps, {"out": len(steps) - 1})


def without_convolution() -> bytes:
    split = SAME.operators()[0]
    joined = like([1, 13, 15, 3])
    return chain(split, op.batch_to_space(split.output, joined, (2, 2), ((0, 1), (0, 1))))


def relu_between() -> bytes:
    split, inner, join = SAME.operators()
    return chain(split, inner, op.elementwise("RELU", inner.output, inner.output), join)


def read_by_another(position: int) -> bytes:
    """A RELU reads the output of the operator at that position."""
    model, steps = op.Model(), SAME.operators()
    results = [model.input(steps[0].inputs[0])]
    for step in steps:
        results += model.apply(step, results[-1])
    output = steps[position].output
    relu = op.elementwise("RELU", output, output)
    (other,) = model.apply(relu, results[position + 1])
    return model.flatbuffer({"out": results[-1], "other": other})


def viewed(apart: Apart, *views: tuple[int, Sequence[int]]) -> bytes:
    """RESHAPE to these shapes at these positions, in place of a view or between two operators."""
    steps = apart.operators()
    for position, shape in views:
        before = steps[position - 1].output
        output = op.Tensor(shape, before.scale, before.zero_point)
        reshape = op.reshape(before, output, shape)
        steps[position : position + apart.flat] = [reshape]
    return chain(*steps)


def reinterpreted(position: int) -> bytes:
    """The output of the operator at that position has a zero point of its own."""
    steps = SAME.operators()
    output = steps[position].output
    steps[position].output = op.Tensor(output.shape, output.scale, output.zero_point + 1)
    return chain(*steps)


def batch_of_two() -> bytes:
    """SPACE_TO_BATCH_ND of what a TRANSPOSE made a batch."""
    turned = op.transpose(like([1, 4, 4, 2]), like([2, 4, 4, 1]), [3, 1, 2, 0])
    split = op.space_to_batch(turned.output, like([8, 2, 2, 1]), (2, 2), ((0, 0), (0, 0)))
    parts = weighted(split.output, (2, 1, 1, 1), 0, (8, 2, 2, 2))
    inner = op.conv(*parts, "valid", (1, 1), (1, 1), "none")
    target = op.Tensor([2, 4, 4, 2], [0.06], 4)
    join = op.batch_to_space(inner.output, target, (2, 2), ((0, 0), (0, 0)))
    return chain(turned, split, inner, join)


def parameter(position: int, place: int, *values: int) -> Callable[[Any, Any], None]:
    """A constant of the operator at that position becomes these integers."""

    def change(model: Any, graph: Any) -> None:
        tensor = graph.tensors[graph.operators[position].inputs[place]]
        data = np.array(values, np.int32).tobytes()
        model.buffers[tensor.buffer].data = np.frombuffer(data, np.uint8)

    return change


def backwards(model: Any, graph: Any) -> None:
    graph.operators[1:] = graph.operators[:0:-1]


def circle(model: Any, graph: Any) -> None:
    graph.operators[2].inputs[0] = graph.operators[2].outputs[0]


def int16_between(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[0].outputs[0]].type = schema.TensorType.INT16


SPLIT_OF_0 = "SPACE_TO_BATCH_ND of layer 'layer_0' is not part of a dilated convolution"
INNER = "CONV_2D of layer 'out' between .* strides, dilates or pads itself"
BEYOND = "BATCH_TO_SPACE_ND of layer 'out' keeps less than the image, or padding alone"
REFUSED: dict[str, tuple[bytes, str]] = {
    "no_convolution": (without_convolution(), SPLIT_OF_0),
    "split_alone": (chain(SAME.operators()[0]), "SPACE_TO_BATCH_ND of layer 'out' is not part"),
    "join_alone": (chain(SAME.operators()[2]), "input 'input' is a batch of 4"),
    "relu_between": (relu_between(), SPLIT_OF_0),
    "phases_read": (read_by_another(0), SPLIT_OF_0),
    "results_read": (read_by_another(1), SPLIT_OF_0),
    "phases_shown": (
        op.flatbuffer(SAME.operators(), {"phases": 0, "out": 2}),
        "SPACE_TO_BATCH_ND of layer 'phases' is not part",
    ),
    "results_shown": (op.flatbuffer(SAME.operators(), {"results": 1, "out": 2}), SPLIT_OF_0),
    "backwards": (edited(SAME.content(), backwards), SPLIT_OF_0),
    "circle": (edited(SAME.content(), circle), SPLIT_OF_0),
    "stride": (replace(SAME, stride=(2, 1)).content(), INNER),
    "dilation": (replace(SAME, dilation=(1, 2)).content(), INNER),
    "padding": (replace(SAME, inner_padding="same").content(), INNER),
    "nothing_left": (
        edited(SAME.content(), parameter(2, 2, 4, 6, 0, 1)),
        "BATCH_TO_SPACE_ND of layer 'out' leaves 0 positions",
    ),
    "kernel_too_large": (
        Apart((3, 3), (3, 3), (2, 2), ((0, 1), (0, 1)), ((0, 0), (0, 0))).content(),
        "BATCH_TO_SPACE_ND of layer 'out' leaves 0 positions",
    ),
    "too_long": (
        Apart((60000,), (5000,), (2,), ((20000, 0),), ((0, 0),), in_c=1).content(),
        "BATCH_TO_SPACE_ND of layer 'out' leaves 70002 positions",
    ),
    "window_too_large": (
        Apart((9, 9), (2, 2), (40000, 40000), ((0, 79991),) * 2, ((0, 0),) * 2).content(),
        "CONV_2D of layer 'out' has a window that is too large",
    ),
    "padding_alone_before": (
        Apart((9, 11), (3, 3), (2, 2), ((6, 3), (2, 3)), ((0, 0), (0, 0))).content(),
        BEYOND,
    ),
    "padding_alone_after": (
        Apart((9, 11), (3, 3), (2, 2), ((0, 9), (2, 3)), ((0, 0), (0, 0))).content(),
        BEYOND,
    ),
    "image_cropped": (
        Apart((9, 11), (3, 3), (2, 2), ((0, 1), (0, 1)), ((1, 0), (0, 1))).content(),
        BEYOND,
    ),
    "other_block": (
        edited(SAME.content(), parameter(2, 1, 2, 1)),
        "BATCH_TO_SPACE_ND of layer 'out' has another block",
    ),
    "other_view_before": (
        viewed(LINE, (1, [2, 11, 3, 1])),
        r"RESHAPE of layer 'out' makes \(2, 11, 3, 1\) of \(2, 11, 3\)",
    ),
    "other_view_after": (
        viewed(LINE, (3, [2, 6, 9])),
        r"RESHAPE of layer 'out' makes \(2, 6, 9\) of \(2, 1, 9, 6\)",
    ),
    "views_of_an_image": (
        viewed(SAME, (1, [4, 7, 8, 3]), (3, [4, 5, 6, 6])),
        r"SPACE_TO_BATCH_ND of layer 'out' works on shape \(1, 9, 11, 3\)",
    ),
    "batch_of_two": (
        batch_of_two(),
        r"SPACE_TO_BATCH_ND of layer 'out' works on shape \(2, 4, 4, 1\)",
    ),
    "phases_rescaled": (reinterpreted(0), "SPACE_TO_BATCH_ND of layer 'out' has a scale or zero"),
    "results_rescaled": (reinterpreted(1), "CONV_2D of layer 'out' has a scale or zero point of"),
    "int16_between": (edited(SAME.content(), int16_between), "is not int8 but int16"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_uses_are_refused_by_name(name: str) -> None:
    content, message = REFUSED[name]
    with pytest.raises(ArtifactError, match=message) as caught:
        read_tflite(content)
    assert caught.value.hint


def short_block(model: Any, graph: Any) -> None:
    parameter(0, 1, 2)(model, graph)
    graph.tensors[graph.operators[0].inputs[1]].shape = [1]


def wrong_shape(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[0].outputs[0]].shape = [4, 8, 7, 3]


def no_paddings(model: Any, graph: Any) -> None:
    graph.operators[0].inputs = graph.operators[0].inputs[:2]


def nothing_joined(model: Any, graph: Any) -> None:
    graph.operators[2].inputs = []


DAMAGED: dict[str, Callable[[Any, Any], None]] = {
    "block_of_zero": parameter(0, 1, 0, 2),
    "negative_block": parameter(0, 1, 2, -2),
    "huge_block": parameter(0, 1, 2**31 - 1, 2**31 - 1),
    "short_block": short_block,
    "negative_padding": parameter(0, 2, -1, 2, 2, 3),
    "huge_padding": parameter(0, 2, 2**31 - 1, 2**31 - 1, 2, 3),
    "negative_crop": parameter(2, 2, 0, -1, 0, 1),
    "uneven": parameter(0, 2, 2, 2, 2, 3),
    "wrong_shape": wrong_shape,
    "no_paddings": no_paddings,
    "nothing_joined": nothing_joined,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_be_is_damage(name: str) -> None:
    with pytest.raises(ArtifactError, match="damaged"):
        read_tflite(edited(SAME.content(), DAMAGED[name]))


def test_shapes_that_the_file_does_not_know_are_inferred() -> None:
    """With an open batch the phases stand there as a batch of 1."""

    def forget(model: Any, graph: Any) -> None:
        for operator in graph.operators:
            tensor = graph.tensors[operator.outputs[0]]
            tensor.shapeSignature = [-1, *tensor.shape[1:]]
            tensor.shape = [1, *tensor.shape[1:]]

    for apart in (SAME, LINE):
        graph = assert_equals_reference(edited(apart.content(), forget))
        assert graph.tensors == read_tflite(apart.content()).tensors
