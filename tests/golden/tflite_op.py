"""One-operator int8 models as flatbuffers, and the reference kernels that run them.

The oracle of the proof chain: a model is written with the schema's object API
alone, then run by LiteRT with OpResolverType.BUILTIN_REF.
"""

from collections.abc import Sequence
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
}
PADDINGS = {"same": schema.Padding.SAME, "valid": schema.Padding.VALID}
TYPES = {np.dtype(np.int8): schema.TensorType.INT8, np.dtype(np.int32): schema.TensorType.INT32}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of the model; data is None for the input and the output."""

    shape: Sequence[int]
    scale: Sequence[float] = ()
    zero_point: int = 0
    channel_axis: int = 0
    data: np.ndarray | None = None


@dataclass
class OneOp:
    """One operator: its inputs (the first is fed at run time), its output, its options."""

    opcode: int
    version: int
    options_type: int
    options: Any
    output: Tensor
    inputs: list[Tensor] = field(default_factory=list)

    def run(self, x: np.ndarray) -> np.ndarray:
        """Output of the reference kernel for x: int8 of the first input's shape."""
        interpreter = Interpreter(
            model_content=self._flatbuffer(),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        )
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])

    def _flatbuffer(self) -> bytes:
        model = schema.ModelT()
        model.version = 3
        model.buffers = [schema.BufferT()]
        graph = schema.SubGraphT()
        tensors = [*self.inputs, self.output]
        graph.tensors = [self._tensor(model, tensor) for tensor in tensors]
        graph.inputs, graph.outputs = [0], [len(self.inputs)]
        operator = schema.OperatorT()
        operator.opcodeIndex = 0
        operator.inputs, operator.outputs = list(range(len(self.inputs))), [len(self.inputs)]
        operator.builtinOptionsType, operator.builtinOptions = self.options_type, self.options
        graph.operators = [operator]
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = self.opcode
        code.version = self.version
        model.operatorCodes, model.subgraphs = [code], [graph]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    @staticmethod
    def _tensor(model: Any, source: Tensor) -> Any:
        tensor = schema.TensorT()
        tensor.shape = list(source.shape)
        tensor.type = schema.TensorType.INT8
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


def fully_connected(inputs: list[Tensor], output: Tensor, activation: str) -> OneOp:
    """FULLY_CONNECTED of [x, weights [O,I], bias [O]]."""
    options = schema.FullyConnectedOptionsT()
    options.fusedActivationFunction = ACTIVATIONS[activation]
    return OneOp(
        schema.BuiltinOperator.FULLY_CONNECTED,
        4,
        schema.BuiltinOptions.FullyConnectedOptions,
        options,
        output,
        inputs,
    )


def mean(x: Tensor, output: Tensor) -> OneOp:
    """MEAN over height and width, dimensions dropped."""
    options = schema.ReducerOptionsT()
    options.keepDims = False
    axes = Tensor([2], data=np.array([1, 2], np.int32))
    return OneOp(
        schema.BuiltinOperator.MEAN,
        2,
        schema.BuiltinOptions.ReducerOptions,
        options,
        output,
        [x, axes],
    )
