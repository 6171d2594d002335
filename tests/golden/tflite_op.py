"""Small int8 models as flatbuffers, and the reference kernels that run them.

The oracle of the proof chain: a model is written with the schema's object API
alone, then run by LiteRT with OpResolverType.BUILTIN_REF.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ACTIVATIONS = {
    "none": schema.ActivationFunctionType.NONE,
    "relu": schema.ActivationFunctionType.RELU,
    "relu6": schema.ActivationFunctionType.RELU6,
    "relu_n1_to_1": schema.ActivationFunctionType.RELU_N1_TO_1,
}
PADDINGS = {"same": schema.Padding.SAME, "valid": schema.Padding.VALID}
TYPES = {
    np.dtype(np.int8): schema.TensorType.INT8,
    np.dtype(np.int32): schema.TensorType.INT32,
    np.dtype(np.int64): schema.TensorType.INT64,
    np.dtype(np.float32): schema.TensorType.FLOAT32,
}


# Operators that only show their bytes under another shape.
VIEWS = {
    schema.BuiltinOperator.RESHAPE,
    schema.BuiltinOperator.SQUEEZE,
    schema.BuiltinOperator.EXPAND_DIMS,
}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of the model; data is None for what is fed or computed."""

    shape: Sequence[int]
    scale: Sequence[float] = ()
    zero_point: int = 0
    channel_axis: int = 0
    data: np.ndarray | None = None
    dtype: Any = np.int8


@dataclass
class OneOp:
    """One operator: its inputs (those without data are fed at run time), its output, its options.

    fed is the place of the first input among the operator's own. An operator may have several
    outputs alike, parts in number; part tells which of them goes on.
    """

    opcode: int
    version: int
    options_type: int
    options: Any
    output: Tensor
    inputs: list[Tensor] = field(default_factory=list)
    fed: int = 0
    parts: int = 1
    part: int = 0

    def run(self, x: np.ndarray) -> np.ndarray:
        """Output of the reference kernel for x: int8 of the first input's shape."""
        (output,) = run_reference(flatbuffer([self], {"output": 0}), x)
        return output


class Model:
    """A model that grows operator by operator; tensors are known by their index."""

    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators, self.graph.inputs = [], [], []
        self.names: dict[int, str] = {}

    def add(self, tensor: Tensor, name: str = "constant") -> int:
        self.graph.tensors.append(_tensor(self.model, name, tensor))
        return len(self.graph.tensors) - 1

    def input(self, tensor: Tensor, name: str = "image") -> int:
        index = self.add(tensor, name)
        self.graph.inputs.append(index)
        self.names[index] = name
        return index

    def apply(self, op: OneOp, *sources: int) -> list[int]:
        """Adds the operator: its inputs without data are the sources, in turn."""
        given = iter(sources)
        inputs = [next(given) if t.data is None else self.add(t) for t in op.inputs]
        inputs.insert(op.fed, inputs.pop(0))
        name = f"model/layer_{len(self.graph.operators)}/out;fused"
        outputs = [self.add(op.output, name) for _ in range(op.parts)]
        self.graph.operators.append(_operator(self.model, op, inputs, outputs))
        return outputs

    def flatbuffer(self, outputs: Mapping[str, int]) -> bytes:
        """outputs: {name in the signature: tensor}."""
        self.graph.outputs = [*outputs.values()]
        signature = schema.SignatureDefT()
        signature.signatureKey = "serving_default"
        signature.inputs = [_named(name, index) for index, name in self.names.items()]
        signature.outputs = [_named(name, index) for name, index in outputs.items()]
        self.model.subgraphs, self.model.signatureDefs = [self.graph], [signature]
        return packed(self.model)


def packed(model: Any) -> bytes:
    """The file of a model in the schema's object API."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def flatbuffer(ops: Sequence[OneOp], outputs: Mapping[str, int]) -> bytes:
    """A model of operators in a row: the first input of each is the output of the one before.

    outputs: {name in the signature: index of the operator that computes it}.
    """
    model = Model()
    source = model.input(ops[0].inputs[0])
    results = []
    for op in ops:
        source = model.apply(op, source)[op.part]
        results.append(source)
    return model.flatbuffer({name: results[k] for name, k in outputs.items()})


def run_reference(content: bytes, x: np.ndarray) -> list[np.ndarray]:
    """Every output of the model for the batch x, in the order of the file."""
    interpreter = Interpreter(
        model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def run_samples(content: bytes, xs: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Every output, in the order of the file, for each sample in turn; xs [n, ...] per input.

    Tensors do not share memory: LiteRT's planner lets an operator write over a reshaped tensor
    whose first shape another one still reads.
    """
    interpreter = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    results = []
    for sample in zip(*xs, strict=True):
        for detail, x in zip(interpreter.get_input_details(), sample, strict=True):
            interpreter.set_tensor(detail["index"], x.reshape(detail["shape"]))
        interpreter.invoke()
        details = interpreter.get_output_details()
        results.append([interpreter.get_tensor(d["index"]).copy() for d in details])
    return results


def _operator(model: Any, op: OneOp, inputs: list[int], outputs: list[int]) -> Any:
    code = schema.OperatorCodeT()
    code.builtinCode, code.deprecatedBuiltinCode = op.opcode, min(op.opcode, 127)
    code.version = op.version
    operator = schema.OperatorT()
    operator.opcodeIndex = len(model.operatorCodes)
    model.operatorCodes.append(code)
    operator.inputs, operator.outputs = inputs, outputs
    operator.builtinOptionsType, operator.builtinOptions = op.options_type, op.options
    return operator


def _tensor(model: Any, name: str, source: Tensor) -> Any:
    tensor = schema.TensorT()
    tensor.name = name
    tensor.shape = list(source.shape)
    tensor.type = TYPES[np.dtype(source.dtype)]
    if source.data is not None:
        tensor.type = TYPES[source.data.dtype]
        tensor.buffer = len(model.buffers)
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(source.data.tobytes(), np.uint8)
        model.buffers.append(buffer)
    if len(source.scale):
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale = [float(scale) for scale in source.scale]
        tensor.quantization.zeroPoint = [source.zero_point] * len(source.scale)
        tensor.quantization.quantizedDimension = source.channel_axis
    return tensor


def _named(name: str, index: int) -> Any:
    entry = schema.TensorMapT()
    entry.name, entry.tensorIndex = name, index
    return entry


def _window_options(
    options: Any, padding: str, stride: Sequence[int], dilation: Sequence[int], activation: str
) -> Any:
    options.padding = PADDINGS[padding]
    options.strideH, options.strideW = stride
    options.dilationHFactor, options.dilationWFactor = dilation
    options.fusedActivationFunction = ACTIVATIONS[activation]
    return options


def conv(
    inputs: list[Tensor],
    output: Tensor,
    padding: str,
    stride: Sequence[int],
    dilation: Sequence[int],
    activation: str,
) -> OneOp:
    """CONV_2D of [x, weights [O,H,W,I], bias [O]]."""
    options = _window_options(schema.Conv2DOptionsT(), padding, stride, dilation, activation)
    return OneOp(
        schema.BuiltinOperator.CONV_2D,
        3,
        schema.BuiltinOptions.Conv2DOptions,
        options,
        output,
        inputs,
    )


def depthwise_conv(
    inputs: list[Tensor],
    output: Tensor,
    padding: str,
    stride: Sequence[int],
    dilation: Sequence[int],
    activation: str,
    multiplier: int,
) -> OneOp:
    """DEPTHWISE_CONV_2D of [x, weights [1,H,W,O], bias [O]]."""
    options = _window_options(
        schema.DepthwiseConv2DOptionsT(), padding, stride, dilation, activation
    )
    options.depthMultiplier = multiplier
    return OneOp(
        schema.BuiltinOperator.DEPTHWISE_CONV_2D,
        3,
        schema.BuiltinOptions.DepthwiseConv2DOptions,
        options,
        output,
        inputs,
    )


def fully_connected(
    inputs: list[Tensor], output: Tensor, activation: str, keep_dims: bool = False
) -> OneOp:
    """FULLY_CONNECTED of [x, weights [O,I], bias [O]]; without keep_dims to [rows, O]."""
    options = schema.FullyConnectedOptionsT()
    options.fusedActivationFunction = ACTIVATIONS[activation]
    options.keepNumDims = keep_dims
    return OneOp(
        schema.BuiltinOperator.FULLY_CONNECTED,
        5,
        schema.BuiltinOptions.FullyConnectedOptions,
        options,
        output,
        inputs,
    )


def mean(x: Tensor, output: Tensor, axes: Sequence[int] = (1, 2), keep_dims: bool = False) -> OneOp:
    """MEAN over the axes."""
    over = Tensor([len(axes)], data=np.array(axes, np.int32))
    return operator("MEAN", [x, over], output, "Reducer", keepDims=keep_dims)


def average_pool(
    x: Tensor,
    output: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    padding: str,
    activation: str,
) -> OneOp:
    """AVERAGE_POOL_2D."""
    return _pool("AVERAGE_POOL_2D", x, output, size, stride, padding, activation)


def max_pool(
    x: Tensor,
    output: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    padding: str,
    activation: str,
) -> OneOp:
    """MAX_POOL_2D."""
    return _pool("MAX_POOL_2D", x, output, size, stride, padding, activation)


def reduce_max(x: Tensor, output: Tensor, axes: Sequence[int], keep_dims: bool = True) -> OneOp:
    """REDUCE_MAX over the axes."""
    over = Tensor([len(axes)], data=np.array(axes, np.int32))
    return operator("REDUCE_MAX", [x, over], output, "Reducer", keepDims=keep_dims)


def add(inputs: list[Tensor], output: Tensor, activation: str) -> OneOp:
    """ADD of two tensors, the shapes broadcast."""
    return operator("ADD", inputs, output, "Add", fusedActivationFunction=ACTIVATIONS[activation])


def sub(inputs: list[Tensor], output: Tensor, activation: str) -> OneOp:
    """SUB of two tensors, the shapes broadcast."""
    return operator("SUB", inputs, output, "Sub", fusedActivationFunction=ACTIVATIONS[activation])


def mul(inputs: list[Tensor], output: Tensor, activation: str) -> OneOp:
    """MUL of two tensors, the shapes broadcast."""
    return operator("MUL", inputs, output, "Mul", fusedActivationFunction=ACTIVATIONS[activation])


def softmax(x: Tensor, output: Tensor, beta: float) -> OneOp:
    """SOFTMAX over the last axis."""
    return operator("SOFTMAX", [x], output, "Softmax", beta=beta)


def elementwise(code: str, x: Tensor, output: Tensor) -> OneOp:
    """LOGISTIC, TANH, RELU, RELU6, HARD_SWISH, QUANTIZE or DEQUANTIZE."""
    return operator(code, [x], output, version=2 if code == "DEQUANTIZE" else 1)


def leaky_relu(x: Tensor, output: Tensor, alpha: float) -> OneOp:
    """LEAKY_RELU."""
    return operator("LEAKY_RELU", [x], output, "LeakyRelu", alpha=alpha)


def pad(x: Tensor, output: Tensor, padding: Sequence[tuple[int, int]]) -> OneOp:
    """PAD with the zero point, (before, after) per axis."""
    amounts = Tensor([len(padding), 2], data=np.array(padding, np.int32))
    return operator("PAD", [x, amounts], output, "Pad")


def concatenation(inputs: list[Tensor], output: Tensor, axis: int) -> OneOp:
    """CONCATENATION."""
    return operator("CONCATENATION", inputs, output, "Concatenation", axis=axis)


def resize_nearest_neighbor(
    x: Tensor, output: Tensor, align_corners: bool, half_pixel_centers: bool
) -> OneOp:
    """RESIZE_NEAREST_NEIGHBOR to the height and width of the output."""
    size = Tensor([2], data=np.array(output.shape[1:3], np.int32))
    return operator(
        "RESIZE_NEAREST_NEIGHBOR",
        [x, size],
        output,
        "ResizeNearestNeighbor",
        version=3,
        alignCorners=align_corners,
        halfPixelCenters=half_pixel_centers,
    )


def strided_slice(
    x: Tensor,
    output: Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    step: Sequence[int],
    **masks: int,
) -> OneOp:
    """STRIDED_SLICE."""
    edges = [Tensor([len(part)], data=np.array(part, np.int32)) for part in (begin, end, step)]
    return operator("STRIDED_SLICE", [x, *edges], output, "StridedSlice", **masks)


def reshape(x: Tensor, output: Tensor, wanted: Sequence[int]) -> OneOp:
    """RESHAPE to a constant shape."""
    sizes = Tensor([len(wanted)], data=np.array(wanted, np.int32))
    return operator("RESHAPE", [x, sizes], output, "Reshape", version=1, newShape=[*wanted])


def squeeze(x: Tensor, output: Tensor, axes: Sequence[int]) -> OneOp:
    """SQUEEZE of the axes, or of all of length 1."""
    return operator("SQUEEZE", [x], output, "Squeeze", version=1, squeezeDims=[*axes])


def expand_dims(x: Tensor, output: Tensor, axis: int) -> OneOp:
    """EXPAND_DIMS."""
    where = Tensor([], data=np.array(axis, np.int32))
    return operator("EXPAND_DIMS", [x, where], output, "ExpandDims", version=1)


def shape(x: Tensor) -> OneOp:
    """SHAPE, as int32."""
    output = Tensor([len(x.shape)], dtype=np.int32)
    return operator("SHAPE", [x], output, "Shape", version=1, outType=schema.TensorType.INT32)


def first_of(count: int) -> OneOp:
    """The first of int32 [count], as STRIDED_SLICE takes it."""
    edges = [Tensor([1], data=np.array([edge], np.int32)) for edge in (0, 1, 1)]
    x, output = Tensor([count], dtype=np.int32), Tensor([], dtype=np.int32)
    return operator("STRIDED_SLICE", [x, *edges], output, "StridedSlice", shrinkAxisMask=1)


def pack(rest: Sequence[int]) -> OneOp:
    """PACK of an int32 and constants that follow it."""
    constants = [Tensor([], data=np.array(value, np.int32)) for value in rest]
    inputs = [Tensor([], dtype=np.int32), *constants]
    output = Tensor([len(inputs)], dtype=np.int32)
    return operator("PACK", inputs, output, "Pack", valuesCount=len(inputs), axis=0)


def split(x: Tensor, output: Tensor, axis: int, parts: int, part: int) -> OneOp:
    """SPLIT into equal parts, of which one is looked at."""
    where = Tensor([], data=np.array(axis, np.int32))
    op = operator("SPLIT", [x, where], output, "Split", numSplits=parts)
    op.fed, op.parts, op.part = 1, parts, part
    return op


def space_to_batch(
    x: Tensor, output: Tensor, block: Sequence[int], padding: Sequence[tuple[int, int]]
) -> OneOp:
    """SPACE_TO_BATCH_ND: pads with the zero point, makes a batch of every block-th position."""
    return _blocks("SPACE_TO_BATCH_ND", x, output, block, padding)


def batch_to_space(
    x: Tensor, output: Tensor, block: Sequence[int], crops: Sequence[tuple[int, int]]
) -> OneOp:
    """BATCH_TO_SPACE_ND: the inverse, which crops."""
    return _blocks("BATCH_TO_SPACE_ND", x, output, block, crops)


def _blocks(
    code: str, x: Tensor, output: Tensor, block: Sequence[int], amounts: Sequence[tuple[int, int]]
) -> OneOp:
    sizes = Tensor([len(block)], data=np.array(block, np.int32))
    ends = Tensor([len(amounts), 2], data=np.array(amounts, np.int32))
    return operator(code, [x, sizes, ends], output)


def broadcast_to(x: Tensor, output: Tensor) -> OneOp:
    """BROADCAST_TO the shape of the output."""
    shape = Tensor([len(output.shape)], data=np.array(output.shape, np.int32))
    return operator("BROADCAST_TO", [x, shape], output, "BroadcastTo")


def transpose(x: Tensor, output: Tensor, order: Sequence[int]) -> OneOp:
    """TRANSPOSE."""
    axes = Tensor([len(order)], data=np.array(order, np.int32))
    return operator("TRANSPOSE", [x, axes], output, "Transpose")


def _pool(
    code: str,
    x: Tensor,
    output: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    padding: str,
    activation: str,
) -> OneOp:
    return operator(
        code,
        [x],
        output,
        "Pool2D",
        padding=PADDINGS[padding],
        filterHeight=size[0],
        filterWidth=size[1],
        strideH=stride[0],
        strideW=stride[1],
        fusedActivationFunction=ACTIVATIONS[activation],
    )


def operator(
    code: str,
    inputs: list[Tensor],
    output: Tensor,
    options: str = "",
    version: int = 2,
    **fields: Any,
) -> OneOp:
    """An operator by its name in the schema; fields are those of its options, if it has any."""
    kind, table = schema.BuiltinOptions.NONE, None
    if options:
        kind = getattr(schema.BuiltinOptions, f"{options}Options")
        table = getattr(schema, f"{options}OptionsT")()
        for name, value in fields.items():
            setattr(table, name, value)
    opcode = getattr(schema.BuiltinOperator, code)
    return OneOp(opcode, version, kind, table, output, inputs)
