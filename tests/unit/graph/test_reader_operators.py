"""Each operator through the reader: graph.run against LiteRT's reference kernels, and what is
refused by name."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph import Graph, read_tflite

from ...golden import tflite_op as op
from ...golden.shape_arithmetic import shape_arithmetic
from .reference import assert_equals_reference

IMAGE = op.Tensor([1, 7, 6, 4], [0.05], -3)
VECTOR = op.Tensor([1, 12], [0.05], -3)


def like(shape: Sequence[int], scale: float = 0.05, zero_point: int = -3) -> op.Tensor:
    return op.Tensor(shape, [scale], zero_point)


def single(operator: op.OneOp) -> bytes:
    return op.flatbuffer([operator], {"out": 0})


def chain(*operators: op.OneOp) -> bytes:
    return op.flatbuffer(operators, {"out": len(operators) - 1})


def weighted(
    source: op.Tensor, shape: Sequence[int], axis: int, out: Sequence[int], per_channel: bool = True
) -> tuple[list[op.Tensor], op.Tensor]:
    rng = np.random.default_rng(1)
    outputs = shape[axis]
    scales = rng.uniform(0.002, 0.006, outputs if per_channel else 1).astype(np.float32)
    weights = rng.integers(-127, 128, shape).astype(np.int8)
    bias = rng.integers(-4000, 4000, outputs).astype(np.int32)
    inputs = [
        source,
        op.Tensor(shape, scales, 0, axis, weights),
        op.Tensor([outputs], np.float32(source.scale[0]) * scales, data=bias),
    ]
    return inputs, like(out, 0.06, 4)


def conv(
    source: op.Tensor = IMAGE,
    out: Sequence[int] = (1, 7, 6, 5),
    padding: str = "same",
    stride: Sequence[int] = (1, 1),
    dilation: Sequence[int] = (1, 1),
    activation: str = "none",
    size: Sequence[int] = (3, 3),
) -> op.OneOp:
    parts = weighted(source, (out[3], *size, source.shape[3]), 0, out)
    return op.conv(*parts, padding, stride, dilation, activation)


def depthwise(
    source: op.Tensor = IMAGE,
    out: Sequence[int] = (1, 7, 6, 4),
    padding: str = "same",
    stride: Sequence[int] = (1, 1),
    size: Sequence[int] = (3, 3),
) -> op.OneOp:
    parts = weighted(source, (1, *size, out[3]), 3, out)
    times = out[3] // source.shape[3]
    return op.depthwise_conv(*parts, padding, stride, (1, 1), "none", times)


def dense(
    source: op.Tensor, inputs: int, out: Sequence[int], keep: bool = False, per_channel: bool = True
) -> op.OneOp:
    parts = weighted(source, (out[-1], inputs), 0, out, per_channel)
    return op.fully_connected(*parts, "none", keep)


def constant(shape: Sequence[int], scale: float = 0.03, zero_point: int = 9) -> op.Tensor:
    values = np.random.default_rng(2).integers(-128, 128, shape).astype(np.int8)
    return op.Tensor(shape, [scale], zero_point, data=values)


SINGLE: dict[str, op.OneOp] = {
    "conv": conv(),
    "conv_valid": conv(out=(1, 5, 4, 5), padding="valid"),
    "conv_stride": conv(out=(1, 4, 2, 5), stride=(2, 3)),
    "conv_dilation": conv(dilation=(2, 1)),
    "conv_relu": conv(activation="relu"),
    "conv_relu6": conv(activation="relu6"),
    "conv_relu_n1_to_1": conv(activation="relu_n1_to_1"),
    "depthwise": depthwise(),
    "depthwise_multiplier": depthwise(out=(1, 7, 6, 12)),
    "depthwise_stride": depthwise(out=(1, 4, 3, 4), stride=(2, 2)),
    "dense": dense(VECTOR, 12, (1, 5)),
    "dense_per_tensor": dense(VECTOR, 12, (1, 5), per_channel=False),
    "dense_flattens": dense(like([1, 2, 2, 3]), 12, (1, 5)),
    "dense_rows": dense(like([1, 6, 4]), 4, (6, 5)),
    "dense_keeps_axes": dense(like([1, 3, 2, 4]), 4, (1, 3, 2, 5), keep=True),
    "average_pool": op.average_pool(IMAGE, like([1, 3, 3, 4]), (3, 2), (2, 2), "valid", "none"),
    "average_pool_same": op.average_pool(IMAGE, like([1, 4, 3, 4]), (3, 3), (2, 2), "same", "relu"),
    "max_pool": op.max_pool(IMAGE, like([1, 4, 3, 4]), (3, 3), (2, 2), "same", "relu6"),
    "mean": op.mean(IMAGE, like([1, 4], 0.03, 8)),
    "mean_keeps_axes": op.mean(IMAGE, like([1, 1, 1, 4]), (2, 1), True),
    "mean_negative_axes": op.mean(IMAGE, like([1, 4], 0.03, 8), (-2, -3)),
    "mean_height": op.mean(IMAGE, like([1, 6, 4], 0.04, 8), (1,)),
    "mean_width": op.mean(IMAGE, like([1, 7, 1, 4], 0.04, 8), (2,), True),
    "mean_channels": op.mean(IMAGE, like([1, 7, 6], 0.04, 8), (3,)),
    "mean_time": op.mean(like([1, 9, 5]), like([1, 5]), (1,)),
    "mean_batch_too": op.mean(IMAGE, like([4], 0.04, 8), (0, 1, 2)),
    "reduce_max": op.reduce_max(IMAGE, like([1, 4]), (2, 1), False),
    "reduce_max_width": op.reduce_max(IMAGE, like([1, 7, 4]), (-2,), False),
    "reduce_max_height": op.reduce_max(IMAGE, like([1, 1, 6, 4]), (1,)),
    "reduce_max_time": op.reduce_max(like([1, 9, 5]), like([1, 1, 5]), (1,)),
    "pad": op.pad(IMAGE, like([1, 9, 9, 5]), [(0, 0), (2, 0), (1, 2), (0, 1)]),
    "softmax": op.softmax(VECTOR, op.Tensor([1, 12], [1 / 256], -128), 1.0),
    "softmax_of_pixels": op.softmax(IMAGE, op.Tensor([1, 7, 6, 4], [1 / 256], -128), 0.5),
    "logistic": op.elementwise("LOGISTIC", IMAGE, like(IMAGE.shape, 1 / 256, -128)),
    "tanh": op.elementwise("TANH", IMAGE, like(IMAGE.shape, 1 / 128, 0)),
    "hard_swish": op.elementwise("HARD_SWISH", IMAGE, like(IMAGE.shape, 0.04, 3)),
    "relu": op.elementwise("RELU", IMAGE, like(IMAGE.shape, 0.04, 3)),
    "relu6": op.elementwise("RELU6", IMAGE, like(IMAGE.shape, 0.04, 3)),
    "leaky_relu": op.leaky_relu(IMAGE, like(IMAGE.shape, 0.04, 3), 0.2),
    "quantize": op.elementwise("QUANTIZE", IMAGE, like(IMAGE.shape, 0.04, 3)),
    "quantize_float": op.elementwise(
        "QUANTIZE", op.Tensor([1, 5, 3], dtype=np.float32), like([1, 5, 3])
    ),
    "dequantize": op.elementwise("DEQUANTIZE", IMAGE, op.Tensor(IMAGE.shape, dtype=np.float32)),
    "concatenation": op.concatenation(
        [IMAGE, constant([1, 7, 6, 2], 0.05, -3)], like([1, 7, 6, 6]), 3
    ),
    "concatenation_rows": op.concatenation(
        [IMAGE, constant([1, 2, 6, 4], 0.05, -3)], like([1, 9, 6, 4]), -3
    ),
    "resize": op.resize_nearest_neighbor(IMAGE, like([1, 14, 9, 4]), False, False),
    "resize_half_pixels": op.resize_nearest_neighbor(IMAGE, like([1, 5, 13, 4]), False, True),
    "resize_corners": op.resize_nearest_neighbor(IMAGE, like([1, 3, 11, 4]), True, False),
    "slice": op.strided_slice(
        IMAGE, like([1, 3, 3, 2]), [0, 1, 5, 1], [1, 7, -7, 3], [1, 2, -2, 1]
    ),
    "slice_masks": op.strided_slice(
        IMAGE, like([1, 7, 2, 3]), [0, 5, 4, 0], [1, 2, 6, -1], [1, 1, 1, 1], beginMask=2, endMask=2
    ),
    "slice_drops_axis": op.strided_slice(
        IMAGE, like([1, 6, 4]), [0, -2, 0, 0], [1, 7, 6, 4], [1, 1, 1, 1], shrinkAxisMask=2
    ),
    "slice_few_axes": op.strided_slice(IMAGE, like([1, 3, 6, 4]), [0, 4], [1, 7], [1, 1]),
    "split": op.split(IMAGE, like([1, 7, 6, 2]), -1, 2, 1),
    "transpose": op.transpose(IMAGE, like([1, 4, 7, 6]), [0, 3, 1, 2]),
    "transpose_batch": op.transpose(IMAGE, like([6, 1, 7, 4]), [2, 0, 1, 3]),
    **{
        f"{build.__name__}_{name}": build(
            [IMAGE, constant(shape)], like([1, 7, 6, 4], 0.1, 7), activation
        )
        for build in (op.add, op.sub, op.mul)
        for name, shape, activation in (
            ("tensor", [1, 7, 6, 4], "none"),
            ("channels", [4], "relu"),
            ("scalar", [], "relu6"),
            ("pixels", [1, 7, 6, 1], "none"),
            ("rows", [7, 1, 4], "relu_n1_to_1"),
        )
    },
}


@pytest.mark.parametrize("name", SINGLE)
def test_an_operator_equals_the_reference_kernel(name: str) -> None:
    content = single(SINGLE[name])
    graph = assert_equals_reference(content)
    assert len(graph.layers) == 1
    (shape,) = (graph.tensors[t].shape for t in graph.outputs.values())
    assert shape == tuple(SINGLE[name].output.shape)[SINGLE[name].output.shape[0] == 1 :]


def test_kernels_that_tell_float_from_int8() -> None:
    kernels = {name: read_tflite(single(SINGLE[name])).layers[0] for name in SINGLE}
    assert kernels["quantize_float"].c_function == "snapuq_quantize_f32_s8"
    assert kernels["quantize"].c_function == "snapuq_lut_s8"
    assert kernels["dequantize"].c_function == "snapuq_dequantize_s8_f32"
    assert isinstance(kernels["dense_rows"].kernel, fx.FullyConnectedS8)
    assert kernels["dense_rows"].kernel.rows == 6
    assert kernels["dense_rows"].macs == 6 * 4 * 5


def two_inputs(build: Callable, first: Sequence[int], second: Sequence[int]) -> bytes:
    model = op.Model()
    tensors = [like(first), like(second, 0.02, 100)]
    indices = [model.input(t, name) for t, name in zip(tensors, ("left", "right"), strict=True)]
    output = like(np.broadcast_shapes(tuple(first), tuple(second)), 0.07, 5)
    (result,) = model.apply(build(tensors, output, "none"), *indices)
    return model.flatbuffer({"sum": result})


@pytest.mark.parametrize("build", [op.add, op.sub, op.mul])
@pytest.mark.parametrize(
    ("first", "second", "copies"),
    [
        ((1, 5, 3, 4), (1, 5, 3, 4), 0),
        ((1, 5, 3, 4), (1, 1, 1, 4), 0),
        ((1, 1, 1, 1), (1, 5, 3, 4), 0),
        ((1, 1, 3, 4), (1, 5, 3, 4), 0),
        ((1, 5, 3, 4), (1, 5, 3, 1), 1),
        ((1, 5, 1, 4), (1, 5, 3, 4), 1),
        ((1, 5, 1, 1), (1, 1, 3, 4), 1),
        ((1, 5, 1, 4), (1, 5, 3, 1), 2),
    ],
)
def test_operands_broadcast(
    build: Callable, first: Sequence[int], second: Sequence[int], copies: int
) -> None:
    """Those that repeat along the leading axes do so in the kernel; others are copied before."""
    graph = assert_equals_reference(two_inputs(build, first, second))
    assert graph.inputs == ("left", "right")
    assert [layer.operator for layer in graph.layers[:-1]] == ["BROADCAST_TO"] * copies


def test_a_constant_that_does_not_repeat_is_expanded() -> None:
    graph = read_tflite(single(SINGLE["add_pixels"]))
    assert [values.shape for values in graph.constants.values()] == [(7 * 6 * 4,)]
    graph = read_tflite(single(SINGLE["add_channels"]))
    assert [values.shape for values in graph.constants.values()] == [(4,)]


def test_a_tensor_may_be_both_operands() -> None:
    model = op.Model()
    source = model.input(IMAGE)
    (result,) = model.apply(op.add([IMAGE, IMAGE], like(IMAGE.shape, 0.1), "none"), source, source)
    assert_equals_reference(model.flatbuffer({"twice": result}))


def test_several_inputs_and_outputs_keep_the_names_of_the_signature() -> None:
    model = op.Model()
    real = op.Tensor([1, 7, 6, 4], dtype=np.float32)
    a, b = model.input(IMAGE, "a"), model.input(real, "b/c:0")
    (quantized,) = model.apply(op.elementwise("QUANTIZE", real, IMAGE), b)
    (joined,) = model.apply(op.concatenation([IMAGE, IMAGE], like([1, 7, 6, 8]), 3), a, quantized)
    left, right = model.apply(op.split(like([1, 7, 6, 8]), IMAGE, 3, 2, 0), joined)
    (back,) = model.apply(op.elementwise("DEQUANTIZE", IMAGE, real), right)
    graph = assert_equals_reference(
        model.flatbuffer({"joined": joined, "real": back, "left half": left})
    )
    assert graph.inputs == ("a", "b_c_0")
    assert list(graph.outputs) == ["joined", "real", "left half"]
    assert graph.tensors[graph.outputs["real"]].dtype == "float32"
    assert all(name.isidentifier() for name in graph.tensors)


def test_parts_of_a_split_that_nobody_reads_are_left_out() -> None:
    graph = assert_equals_reference(single(op.split(IMAGE, like([1, 7, 6, 1]), 3, 4, 2)))
    assert len(graph.layers) == 1
    assert len(graph.tensors) == 2


def pad(*amounts: tuple[int, int], source: op.Tensor = IMAGE) -> op.OneOp:
    shape = [d + sum(extra) for d, extra in zip(source.shape, amounts, strict=True)]
    return op.pad(source, like(shape), amounts)


SPACE = pad((0, 0), (1, 2), (0, 1), (0, 0))  # to 10 x 7


@pytest.mark.parametrize(
    "operator",
    [
        conv(SPACE.output, (1, 8, 5, 5), "valid"),
        conv(SPACE.output, (1, 4, 3, 5), "valid", (2, 2)),
        conv(SPACE.output, (1, 6, 5, 5), "valid", dilation=(2, 1)),
        conv(SPACE.output, (1, 2, 1, 5), "same", (5, 7), size=(5, 7)),
        depthwise(SPACE.output, (1, 8, 5, 4), "valid"),
        depthwise(SPACE.output, (1, 3, 2, 8), "valid", (3, 3)),
    ],
)
def test_padding_in_front_of_a_convolution_becomes_its_own(operator: op.OneOp) -> None:
    graph = assert_equals_reference(chain(SPACE, operator))
    (layer,) = graph.layers
    assert isinstance(layer.kernel, fx.ConvS8)
    assert (layer.kernel.pad_top, layer.kernel.pad_left) == (1, 0)
    assert (layer.kernel.in_h, layer.kernel.in_w) == (7, 6)
    assert layer.sources == graph.inputs


WIDE = pad((0, 0), (3, 0), (0, 0), (0, 0))
DEEP = pad((0, 0), (1, 1), (1, 1), (0, 1))
LOW = pad((0, 0), (0, 4), (0, 0), (0, 0))


@pytest.mark.parametrize(
    ("padding", "operator"),
    [
        (SPACE, conv(SPACE.output, (1, 10, 7, 5), "same")),
        (SPACE, conv(SPACE.output, (1, 10, 7, 5), "valid", size=(1, 1))),
        (WIDE, conv(WIDE.output, (1, 8, 4, 5), "valid")),
        (LOW, conv(LOW.output, (1, 9, 4, 5), "valid")),
        (DEEP, conv(DEEP.output, (1, 7, 6, 5), "valid")),
        (SPACE, op.max_pool(SPACE.output, like([1, 5, 3, 4]), (2, 2), (2, 2), "valid", "none")),
    ],
    ids=["padded_itself", "pointwise", "window_in_padding", "window_below", "channels", "pool"],
)
def test_other_padding_stays_a_layer(padding: op.OneOp, operator: op.OneOp) -> None:
    graph = assert_equals_reference(chain(padding, operator))
    assert [layer.operator for layer in graph.layers] == ["PAD", graph.layers[1].operator]


def test_padding_that_others_read_stays_a_layer() -> None:
    convolution = conv(SPACE.output, (1, 8, 5, 5), "valid")
    both = op.flatbuffer([SPACE, convolution], {"padded": 0, "out": 1})
    assert len(assert_equals_reference(both).layers) == 2
    model = op.Model()
    (padded,) = model.apply(SPACE, model.input(IMAGE))
    results = [model.apply(convolution, padded)[0] for _ in range(2)]
    shown = op.reshape(SPACE.output, like([1, 280]), [1, 280])
    content = model.flatbuffer({"a": results[0], "b": results[1]})
    assert len(assert_equals_reference(content).layers) == 3
    model = op.Model()
    (padded,) = model.apply(SPACE, model.input(IMAGE))
    (result,) = model.apply(convolution, padded)
    (flat,) = model.apply(shown, padded)
    content = model.flatbuffer({"out": result, "flat": flat})
    assert len(assert_equals_reference(content).layers) == 2


def test_views_share_their_bytes_and_have_their_own_shapes() -> None:
    relu = op.elementwise("RELU", IMAGE, IMAGE)
    rows = op.reshape(IMAGE, like([42, 4]), [-1, 4])
    softmax = op.softmax(rows.output, op.Tensor([42, 4], [1 / 256], -128), 1.0)
    model = op.Model()
    (first,) = model.apply(relu, model.input(IMAGE))
    (flat,) = model.apply(rows, first)
    (wide,) = model.apply(op.expand_dims(rows.output, like([42, 1, 4]), 1), flat)
    (tight,) = model.apply(op.squeeze(like([42, 1, 4]), like([42, 4]), [1]), wide)
    (classes,) = model.apply(softmax, tight)
    graph = assert_equals_reference(model.flatbuffer({"wide": wide, "classes": classes}))
    assert [layer.operator for layer in graph.layers] == ["RELU", "SOFTMAX"]
    assert set(graph.views.values()) == {graph.layers[0].target}
    assert graph.tensors[graph.outputs["wide"]].shape == (42, 1, 4)
    assert graph.tensors[graph.layers[1].sources[0]].shape == (42, 4)


def test_squeeze_without_axes_takes_all_of_length_1() -> None:
    relu = op.elementwise("RELU", like([1, 1, 6, 1]), like([1, 1, 6, 1]))
    squeezed = op.squeeze(relu.output, like([6]), [])
    graph = assert_equals_reference(chain(relu, squeezed))
    assert graph.tensors[graph.outputs["out"]].shape == (6,)


def test_shape_arithmetic_is_folded() -> None:
    graph = assert_equals_reference(shape_arithmetic())
    assert [layer.operator for layer in graph.layers] == ["RELU", "RELU"]
    assert graph.tensors[graph.outputs["rows"]].shape == (42, 4)


def edited(content: bytes, change: Callable[[Any, Any], None]) -> bytes:
    """The model after change(model, its only subgraph)."""
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    (graph,) = model.subgraphs
    for operator in graph.operators:
        operator.inputs, operator.outputs = [*operator.inputs], [*operator.outputs]
    change(model, graph)
    return op.packed(model)


def test_sizes_that_the_file_does_not_know_are_inferred() -> None:
    """A converter that keeps the batch open stores 1, or -1 in the signature of the shape."""

    def forget(model: Any, graph: Any) -> None:
        graph.tensors[graph.inputs[0]].shapeSignature = [-1, 7, 6, 4]
        for operator in graph.operators:
            for index in operator.outputs:
                tensor = graph.tensors[index]
                if tensor.type == schema.TensorType.INT8:
                    tensor.shapeSignature = [-1] * len(tensor.shape)
                    tensor.shape = [1] * len(tensor.shape)

    content = edited(shape_arithmetic(), forget)
    assert read_tflite(content).tensors == read_tflite(shape_arithmetic()).tensors


def test_reshape_takes_its_sizes_from_where_they_are() -> None:
    reshape = op.reshape(IMAGE, like([1, 42, 4]), [1, 42, 4])
    softmax = op.softmax(reshape.output, op.Tensor([1, 42, 4], [1 / 256], -128), 1.0)
    content = chain(reshape, softmax)

    def only_options(model: Any, graph: Any) -> None:
        graph.operators[0].inputs = graph.operators[0].inputs[:1]

    def nothing(model: Any, graph: Any) -> None:
        only_options(model, graph)
        graph.operators[0].builtinOptions.newShape = []

    for change in (only_options, nothing):
        graph = read_tflite(edited(content, change))
        assert graph.tensors[graph.layers[0].sources[0]].shape == (42, 4)


def test_a_layer_without_options_has_their_defaults() -> None:
    def drop(model: Any, graph: Any) -> None:
        graph.operators[0].builtinOptions = None
        graph.operators[0].builtinOptionsType = 0

    content = edited(single(op.leaky_relu(IMAGE, IMAGE, 0.2)), drop)
    plain = single(op.leaky_relu(IMAGE, IMAGE, 0.0))
    tables = [read_tflite(c).layers[0].kernel for c in (content, plain)]
    np.testing.assert_array_equal(*(kernel.table for kernel in tables))


def float_model() -> bytes:
    real = op.Tensor([1, 7, 6, 4], dtype=np.float32)
    return single(op.operator("RELU", [real], real, version=1))


def first_constant(model: Any, graph: Any) -> Any:
    return graph.tensors[graph.operators[0].inputs[1]]


def weights_are_sparse(model: Any, graph: Any) -> None:
    first_constant(model, graph).sparsity = schema.SparsityParametersT()


def weights_are_outside(model: Any, graph: Any) -> None:
    buffer = model.buffers[first_constant(model, graph).buffer]
    buffer.offset, buffer.size = 4096, 180


def weights_are_computed(model: Any, graph: Any) -> None:
    model.buffers[first_constant(model, graph).buffer].data = None


def weights_are_the_input(model: Any, graph: Any) -> None:
    graph.operators[0].inputs[1] = graph.inputs[0]


def scales_along_another_axis(model: Any, graph: Any) -> None:
    first_constant(model, graph).quantization.quantizedDimension = 3


def huge_bias(model: Any, graph: Any) -> None:
    buffer = model.buffers[graph.tensors[graph.operators[0].inputs[2]].buffer]
    buffer.data = np.frombuffer(np.full(5, -(2**31), np.int32).tobytes(), np.uint8)


def a_variable(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[0].outputs[0]].isVariable = True


def a_batch(model: Any, graph: Any) -> None:
    graph.tensors[graph.inputs[0]].shape = [2, 7, 6, 4]


def custom(model: Any, graph: Any) -> None:
    (code,) = model.operatorCodes
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode = "Wavelet"


def shuffled(model: Any, graph: Any) -> None:
    graph.operators[0].builtinOptions.weightsFormat = 1


def input_type(code: int) -> Callable[[Any, Any], None]:
    def change(model: Any, graph: Any) -> None:
        graph.tensors[graph.inputs[0]].type = code

    return change


def many_axes(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[0].outputs[0]].shape = [1] * 7


def no_change(model: Any, graph: Any) -> None:
    pass


def mask(name: str) -> Callable[[Any, Any], None]:
    def change(model: Any, graph: Any) -> None:
        setattr(graph.operators[0].builtinOptions, name, 1)

    return change


def activation(model: Any, graph: Any) -> None:
    graph.operators[0].builtinOptions.fusedActivationFunction = 1


def output_scale(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[0].outputs[0]].quantization.scale = [1e-9]


def output_of_integers(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[0].outputs[0]].type = schema.TensorType.INT32


def source_is_constant(model: Any, graph: Any) -> None:
    graph.operators[0].inputs[0] = graph.operators[0].inputs[1]


def all_constant(model: Any, graph: Any) -> None:
    graph.operators[0].inputs = [graph.operators[0].inputs[1]] * 2


def many_operators(model: Any, graph: Any) -> None:
    graph.operators = graph.operators * 5000


def output_is_input(model: Any, graph: Any) -> None:
    graph.outputs = graph.inputs


def output_is_constant(model: Any, graph: Any) -> None:
    graph.outputs = [graph.operators[0].inputs[1]]


def output_twice(model: Any, graph: Any) -> None:
    graph.outputs = [graph.outputs[0], graph.outputs[0]]


BIG = op.Tensor([1, 4000, 4000, 1], [0.05], -3)
FIELD = op.Tensor([1, 4000, 1000, 4], [0.05], -3)
REFUSED: dict[str, tuple[bytes, Callable[[Any, Any], None], str]] = {
    "float": (float_model(), no_change, "'out' is not int8 but float32|RELU of layer 'out' works"),
    "uint8": (single(conv()), input_type(3), "'input' is not int8 but uint8"),
    "int16": (single(conv()), input_type(7), "'input' is not int8 but int16"),
    "int4": (single(conv()), input_type(17), "'input' is not int8 but int4"),
    "other_type": (single(conv()), input_type(13), "'input' is not int8 but of type 13"),
    "hybrid": (single(conv()), input_type(0), "CONV_2D of layer 'out' works on float32"),
    "sparse": (single(conv()), weights_are_sparse, "'constant' is sparse"),
    "outside": (single(conv()), weights_are_outside, "stand outside of the flatbuffer"),
    "computed": (single(conv()), weights_are_computed, "CONV_2D of layer 'out' .* no constants"),
    "input_weights": (single(conv()), weights_are_the_input, "CONV_2D of layer 'out' .* no const"),
    "other_scales": (single(conv()), scales_along_another_axis, "'out' have scales along another"),
    "overflow": (single(conv()), huge_bias, "CONV_2D of layer 'out' can exceed .* int32"),
    "variable": (single(conv()), a_variable, "'out' is a variable"),
    "batch": (single(conv()), a_batch, "input 'input' is a batch of 2"),
    "custom": (single(conv()), custom, "operator CUSTOM Wavelet of layer 'out' is not supported"),
    "shuffled": (single(SINGLE["dense"]), shuffled, "'out' has shuffled weights"),
    "axes": (single(SINGLE["relu"]), many_axes, "'out' has 7 axes"),
    "ellipsis": (single(SINGLE["slice"]), mask("ellipsisMask"), "'out' has an ellipsis"),
    "new_axis": (single(SINGLE["slice"]), mask("newAxisMask"), "'out' has an ellipsis, a new axis"),
    "fused": (single(SINGLE["concatenation"]), activation, "CONCATENATION of layer 'out' has a fu"),
    "joined_scales": (
        single(SINGLE["concatenation"]),
        output_scale,
        "Both must be alike|goes from",
    ),
    "pool_scales": (single(SINGLE["max_pool"]), output_scale, "MAX_POOL_2D of layer 'out' goes fr"),
    "softmax_scale": (single(SINGLE["softmax"]), output_scale, "not in steps of 1/256"),
    "logistic_scale": (single(SINGLE["logistic"]), output_scale, "LOGISTIC of layer 'out' cannot"),
    "sum_scale": (single(SINGLE["add_tensor"]), output_scale, "ADD of layer 'out' cannot be comp"),
    "integers": (single(SINGLE["relu"]), output_of_integers, "RELU of integers of layer 'out'"),
    "constant": (single(SINGLE["concatenation"]), all_constant, "'out' works on constants"),
    "constants": (single(SINGLE["add_tensor"]), all_constant, "ADD of layer 'out' works on const"),
    "constant_source": (single(conv()), source_is_constant, "CONV_2D of layer 'out' works on a c"),
    "operators": (single(SINGLE["relu"]), many_operators, "has 5000 operators"),
    "identity": (single(SINGLE["relu"]), output_is_input, "output '.*' is an input of the model"),
    "constant_output": (single(conv()), output_is_constant, "output 0 of the model is a constant"),
    "twice": (single(SINGLE["relu"]), output_twice, "output 1 .* is a constant or listed twice"),
    "too_large": (
        single(op.pad(BIG, like([1, 8000, 4000, 1]), [(0, 0), (0, 4000), (0, 0), (0, 0)])),
        no_change,
        "'out' has 32000000 bytes",
    ),
    "long_axis": (
        single(
            op.max_pool(
                like([1, 70000, 1, 1]), like([1, 70000, 1, 1]), (1, 1), (1, 1), "same", "none"
            )
        ),
        no_change,
        "works on shape",
    ),
    "not_an_image": (
        single(op.max_pool(like([1, 5, 4]), like([1, 5, 4]), (1, 1), (1, 1), "same", "none")),
        no_change,
        "MAX_POOL_2D of layer 'out' works on shape .* not on one image",
    ),
    "large_window": (
        single(op.max_pool(IMAGE, like([1, 7, 6, 4]), (9000, 9000), (1, 1), "same", "none")),
        no_change,
        "MAX_POOL_2D of layer 'out' has a window that is too large",
    ),
    "large_pool": (
        single(op.max_pool(IMAGE, like([1, 7, 6, 4]), (3000, 3000), (1, 1), "same", "none")),
        no_change,
        "MAX_POOL_2D of layer 'out' has a window that is too large",
    ),
    "long_mean": (
        single(op.mean(like([1, 4096, 4000, 1]), like([1, 1]))),
        no_change,
        "MEAN of layer 'out' is over 16384000 elements",
    ),
    "expanded_rank": (
        single(op.expand_dims(like([1, 2, 1, 2, 1, 2]), like([]), 0)),
        no_change,
        "'out' has 7 axes",
    ),
    "large_constants": (
        chain(*[op.add([FIELD, constant([4000, 1, 1])], FIELD, "none")] * 2),
        no_change,
        "ADD of layer 'out' has constants that are too large",
    ),
    "many_channels": (
        single(dense(like([1, 1]), 1, (1, 70000), per_channel=False)),
        no_change,
        "FULLY_CONNECTED of layer 'out' has 70000 channels",
    ),
    "many_parts": (
        single(op.split(like([1, 5000]), like([1, 1]), 1, 5000, 0)),
        no_change,
        "more than 4096 layers",
    ),
    "copy_of_five_axes": (
        single(
            op.transpose(like([1, 2, 3, 2, 3, 2]), like([1, 2, 3, 2, 3, 2]), [0, 5, 4, 3, 2, 1])
        ),
        no_change,
        "TRANSPOSE of layer 'out' cannot be computed: a copy of 5 axes",
    ),
    "inner_dequantize": (
        chain(
            SINGLE["dequantize"],
            op.elementwise("QUANTIZE", op.Tensor(IMAGE.shape, dtype=np.float32), IMAGE),
        ),
        no_change,
        "DEQUANTIZE of layer 'layer_0' is not an output of the model",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_by_name(name: str) -> None:
    content, change, message = REFUSED[name]
    with pytest.raises(ArtifactError, match=message) as caught:
        read_tflite(edited(content, change))
    assert caught.value.hint
    assert "damaged" not in caught.value.message


def test_weights_may_serve_several_layers() -> None:
    """A cell that is unrolled: the same constants, eight times."""
    cell = dense(like([1, 200]), 200, (1, 200))
    content = op.flatbuffer([cell] * 8, {"out": 7})

    def share(model: Any, graph: Any) -> None:
        for operator in graph.operators[1:]:
            operator.inputs[1:] = graph.operators[0].inputs[1:]
        used = {graph.tensors[i].buffer for i in graph.operators[0].inputs}
        for k, buffer in enumerate(model.buffers):
            if k not in used:
                buffer.data = None

    shared = edited(content, share)
    assert len(shared) < 100_000 < 8 * 200 * 200
    assert_equals_reference(shared)


def option(name: str, value: Any) -> Callable[[Any, Any], None]:
    def change(model: Any, graph: Any) -> None:
        setattr(graph.operators[0].builtinOptions, name, value)

    return change


def parameter(position: int, *values: int) -> Callable[[Any, Any], None]:
    """The operator's constant input of that position becomes these integers."""

    def change(model: Any, graph: Any) -> None:
        tensor = graph.tensors[graph.operators[0].inputs[position]]
        data = np.array(values, np.int32).tobytes()
        model.buffers[tensor.buffer].data = np.frombuffer(data, np.uint8)
        if len(tensor.shape) == 1:
            tensor.shape = [len(values)]

    return change


def other_options(model: Any, graph: Any) -> None:
    graph.operators[0].builtinOptionsType = schema.BuiltinOptions.AddOptions
    graph.operators[0].builtinOptions = schema.AddOptionsT()


def output_shape(*shape: int) -> Callable[[Any, Any], None]:
    def change(model: Any, graph: Any) -> None:
        graph.tensors[graph.operators[0].outputs[0]].shape = [*shape]

    return change


def weight_shape(*shape: int) -> Callable[[Any, Any], None]:
    def change(model: Any, graph: Any) -> None:
        first_constant(model, graph).shape = [*shape]

    return change


def no_inputs(model: Any, graph: Any) -> None:
    graph.operators[0].inputs = []


def no_outputs(model: Any, graph: Any) -> None:
    graph.operators[0].outputs = []


def nothing_comes_out(model: Any, graph: Any) -> None:
    graph.outputs = []


def missing_tensor(model: Any, graph: Any) -> None:
    graph.operators[0].inputs[0] = 999


def missing_buffer(model: Any, graph: Any) -> None:
    first_constant(model, graph).buffer = 999


def input_twice(model: Any, graph: Any) -> None:
    graph.inputs = [graph.inputs[0]] * 2


def no_scale(model: Any, graph: Any) -> None:
    first_constant(model, graph).quantization.scale = []


def empty_input(model: Any, graph: Any) -> None:
    graph.tensors[graph.inputs[0]].shape = [1, 0, 6, 4]


EXPAND = op.expand_dims(IMAGE, like([1, 7, 6, 4, 1]), 4)
DAMAGED: dict[str, tuple[op.OneOp, Callable[[Any, Any], None]]] = {
    "options_of_another": (conv(), other_options),
    "padding": (conv(), option("padding", 7)),
    "stride": (conv(), option("strideH", 0)),
    "huge_stride": (conv(), option("strideH", 1 << 30)),
    "shape": (conv(), output_shape(1, 7, 6, 3)),
    "rank": (conv(), output_shape(7, 6, 5)),
    "weight_rank": (conv(), weight_shape(5, 9, 4)),
    "weight_size": (conv(), weight_shape(5, 3, 3, 5)),
    "negative_size": (conv(), weight_shape(5, 3, -3, -4)),
    "valid_too_small": (conv(out=(1, 5, 4, 5), padding="valid"), option("dilationHFactor", 9)),
    "no_inputs": (conv(), no_inputs),
    "no_outputs": (conv(), no_outputs),
    "no_model_outputs": (conv(), nothing_comes_out),
    "missing_tensor": (conv(), missing_tensor),
    "missing_buffer": (conv(), missing_buffer),
    "input_twice": (conv(), input_twice),
    "empty_input": (conv(), empty_input),
    "no_scale": (conv(), no_scale),
    "dense_inputs": (SINGLE["dense"], weight_shape(5, 4, 3)),
    "dense_keeps": (SINGLE["dense_flattens"], option("keepNumDims", True)),
    "axis": (SINGLE["mean"], parameter(1, 1, 4)),
    "beta": (SINGLE["softmax"], option("beta", -1.0)),
    "alpha": (SINGLE["leaky_relu"], option("alpha", float("nan"))),
    "pads": (SINGLE["pad"], parameter(1, 0, 0, -1, 0, 1, 2, 0, 1)),
    "order": (SINGLE["transpose"], parameter(1, 0, 1, 1, 2)),
    "slice_axes": (SINGLE["slice"], parameter(1, 0)),
    "slice_empty": (SINGLE["slice"], parameter(1, 0, 7, 5, 1)),
    "slice_step": (SINGLE["slice"], parameter(3, 1, 0, 1, 1)),
    "parts": (SINGLE["split"], option("numSplits", 4)),
    "resize": (SINGLE["resize"], parameter(1, 0, 9)),
    "joined": (SINGLE["concatenation"], weight_shape(1, 6, 7, 2)),
    "expand": (EXPAND, parameter(1, 9)),
    "sums": (SINGLE["add_tensor"], weight_shape(1, 6, 7, 4)),
    "squeeze": (op.squeeze(IMAGE, like([7, 6, 4]), [0]), option("squeezeDims", [1])),
    "reshape": (op.reshape(IMAGE, like([1, 168]), [1, 168]), parameter(1, 1, 169)),
    "two_unknown": (op.reshape(IMAGE, like([1, 168]), [1, 168]), parameter(1, -1, -1)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_be_is_damage(name: str) -> None:
    operator, change = DAMAGED[name]
    with pytest.raises(ArtifactError, match="damaged"):
        read_tflite(edited(single(operator), change))


def names(graph: Graph) -> list[str]:
    return [layer.name for layer in graph.layers]


def test_names_are_short_identifiers_of_their_own() -> None:
    relu = op.elementwise("RELU", IMAGE, IMAGE)
    content = op.flatbuffer([relu] * 3, {"out": 2})

    def rename(model: Any, graph: Any) -> None:
        for operator, name in zip(
            graph.operators, ("a b/Relu", "a-b/Relu6;x", "z" * 500), strict=True
        ):
            graph.tensors[operator.outputs[0]].name = name
        model.signatureDefs = None

    graph = read_tflite(edited(content, rename))
    assert names(graph) == ["a_b", "a_b_2", "z" * 60]
    assert list(graph.outputs.values()) == ["z" * 60]
