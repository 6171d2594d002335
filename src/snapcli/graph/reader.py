"""Reads a full-int8 .tflite with one input into a Graph.

Anything it does not understand is named, with its layer, before any work is done.
"""

import re
import struct
from dataclasses import replace
from typing import Any

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.graph.operators import OPERATORS, Kernel

_ACTIVATIONS = {0: "none", 1: "relu", 3: "relu6"}
_PADDING = {0: "same", 1: "valid"}
_RENAMING = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
# What reading a file that says impossible things raises, here and in flatbuffers.
_DAMAGE = (struct.error, LookupError, ArithmeticError, TypeError, ValueError, AttributeError)


def read_tflite(content: bytes) -> Graph:
    from ai_edge_litert import schema_py_generated as schema

    if content[4:8] != b"TFL3":
        raise ArtifactError("this is not a .tflite file", "Give a model that TFLite converted.")
    try:
        model = schema.ModelT.InitFromPackedBuf(content, 0)
        return _Reader(schema, model).graph()
    except _DAMAGE as error:
        raise ArtifactError(
            f"the .tflite file is damaged ({error})", "Convert the model again."
        ) from None


class _Reader:
    def __init__(self, schema: Any, model: Any) -> None:
        if len(model.subgraphs) != 1:
            raise ArtifactError(
                f"the model has {len(model.subgraphs)} subgraphs",
                "Convert one without control flow.",
            )
        self.schema, self.model, self.subgraph = schema, model, model.subgraphs[0]
        self.signature = {
            int(m.tensorIndex): m.name.decode()
            for s in model.signatureDefs or []
            for m in s.outputs or []
        }
        self.names: dict[int, str] = {}
        self.tensors: dict[str, Tensor] = {}
        self.constants: dict[str, np.ndarray] = {}

    def graph(self) -> Graph:
        if len(self.subgraph.inputs) != 1:
            raise ArtifactError(
                f"the model has {len(self.subgraph.inputs)} inputs",
                "Convert one with a single input.",
            )
        source = self._register(int(self.subgraph.inputs[0]), "input")
        found = [self._layer(operator) for operator in self.subgraph.operators]
        outputs = {
            self.signature.get(int(i), self.names[int(i)]): self.names[int(i)]
            for i in self.subgraph.outputs
        }
        layers = tuple(layer for layer in found if layer is not None)
        return Graph(self.tensors, layers, (source.name,), outputs, self.constants)

    def _register(self, index: int, name: str | None = None) -> Tensor:
        """The tensor of this index, known from now on under a short name of its own."""
        if index in self.names:
            raise ValueError(f"tensor '{self.names[index]}' is computed twice")
        raw = self.subgraph.tensors[index]
        name = self._unique(
            name or _identifier(self.signature.get(index) or _short(raw.name.decode()))
        )
        if raw.type != self.schema.TensorType.INT8:
            raise ArtifactError(f"tensor '{name}' is not int8", "Quantize the whole model to int8.")
        scales = np.asarray(raw.quantization.scale, np.float32)
        if scales.size != 1:
            raise ArtifactError(f"tensor '{name}' has no single scale", "Quantize the model again.")
        shape = tuple(int(d) for d in raw.shape[1:])
        scale, zero_point = float(scales[0]), int(raw.quantization.zeroPoint[0])
        if not (shape and min(shape) > 0 and 0 < scale < np.inf and -128 <= zero_point <= 127):
            raise ValueError(f"tensor '{name}' has an impossible shape, scale or zero point")
        self.names[index] = name
        self.tensors[name] = Tensor(name, shape, scale, zero_point, index=index)
        return self.tensors[name]

    def _unique(self, name: str) -> str:
        candidate, n = name, 2
        while candidate in self.tensors:
            candidate, n = f"{name}_{n}", n + 1
        return candidate

    def _constant(self, index: int, dtype: type[np.int8 | np.int32], layer: str) -> np.ndarray:
        raw = self.subgraph.tensors[index]
        types = {np.int8: self.schema.TensorType.INT8, np.int32: self.schema.TensorType.INT32}
        if raw.type != types[dtype]:
            raise ArtifactError(
                f"a constant of layer '{layer}' is not {dtype.__name__}",
                "Quantize the whole model to int8.",
            )
        data = np.asarray(self.model.buffers[raw.buffer].data, np.uint8).tobytes()
        return np.frombuffer(data, dtype).reshape(raw.shape)

    def _layer(self, operator: Any) -> Layer | None:
        """None for an operator that only renames its source."""
        code = self.model.operatorCodes[operator.opcodeIndex]
        kind = self._operator_name(max(code.builtinCode, code.deprecatedBuiltinCode))
        # A source that no layer before this one computes is a KeyError: the file is damaged.
        source = self.tensors[self.names[int(operator.inputs[0])]]
        if kind in _RENAMING:
            self._rename(int(operator.outputs[0]), source)
            return None
        target = self._register(int(operator.outputs[0]))
        sources: tuple[str, ...] = (source.name,)
        kernel: Kernel
        if kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            kernel = self._convolution(operator, source, target, kind == "DEPTHWISE_CONV_2D")
        elif kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            kernel = self._pool(operator, source, target)
        elif kind in ("ADD", "SUB", "MUL"):
            other = self._operand(int(operator.inputs[1]), target.name)
            sources = (source.name, other.name)
            kernel = self._elementwise(kind, operator, source, other, target)
        elif kind == "FULLY_CONNECTED":
            kernel = self._fully_connected(operator, source, target)
        elif kind == "MEAN":
            kernel = self._mean(operator, source, target)
        elif kind == "SOFTMAX":
            kernel = self._softmax(operator, source, target)
        else:
            supported = ", ".join(sorted([*OPERATORS, *_RENAMING]))
            raise ArtifactError(
                f"operator {kind} of layer '{target.name}' is not supported",
                f"Supported: {supported}.",
            )
        return Layer(target.name, kind, kernel, sources, target.name)

    def _operator_name(self, code: int) -> str:
        names = {v: k for k, v in vars(self.schema.BuiltinOperator).items() if isinstance(v, int)}
        return names.get(code, str(code))

    def _rename(self, index: int, source: Tensor) -> None:
        """The same bytes with another shape: consumers read the source itself."""
        raw = self.subgraph.tensors[index]
        size = int(np.prod([int(d) for d in raw.shape]))
        if size != source.size_bytes or index in self.names:
            raise ValueError(f"tensor '{source.name}' is reshaped to another size")
        self.names[index] = source.name

    def _operand(self, index: int, layer: str) -> Tensor:
        """A tensor that a layer computes, or a constant."""
        if index in self.names:
            return self.tensors[self.names[index]]
        values = self._constant(index, np.int8, layer)
        quantization = self.subgraph.tensors[index].quantization
        name = self._unique(f"{layer}_operand")
        scale, zero_point = float(quantization.scale[0]), int(quantization.zeroPoint[0])
        self.constants[name] = values.ravel()
        self.tensors[name] = Tensor(name, values.shape[1:] or (1,), scale, zero_point)
        return self.tensors[name]

    def _activation(self, activation: int, target: Tensor) -> tuple[int, int]:
        """(min, max) of a fused activation."""
        if activation not in _ACTIVATIONS:
            raise ArtifactError(
                f"the fused activation of layer '{target.name}' is not supported",
                "Use none, relu or relu6.",
            )
        return fx.activation_range(_ACTIVATIONS[activation], target.scale, target.zero_point)

    def _pool(self, operator: Any, source: Tensor, target: Tensor) -> fx.PoolS8:
        options = operator.builtinOptions
        in_h, in_w, channels = source.shape
        kernel_h, kernel_w = options.filterHeight, options.filterWidth
        if min(kernel_h, kernel_w, options.strideH, options.strideW) < 1:
            raise ValueError(f"layer '{target.name}' has an impossible window")
        padding = _PADDING[options.padding]
        out_h, pad_top = fx.conv_window(in_h, kernel_h, options.strideH, 1, padding)
        out_w, pad_left = fx.conv_window(in_w, kernel_w, options.strideW, 1, padding)
        same = (source.scale, source.zero_point) == (target.scale, target.zero_point)
        if (out_h, out_w, channels) != target.shape or not same:
            raise ValueError(f"layer '{target.name}' has the wrong shape or scale")
        low, high = self._activation(options.fusedActivationFunction, target)
        window = (kernel_h, kernel_w, options.strideH, options.strideW, pad_top, pad_left)
        return fx.PoolS8(in_h, in_w, channels, out_h, out_w, *window, min=low, max=high)

    def _elementwise(
        self, kind: str, operator: Any, first: Tensor, second: Tensor, target: Tensor
    ) -> fx.AddS8 | fx.MulS8:
        """Operands repeat along the leading axes, so their shape must end the target's."""
        for operand in (first, second):
            if not _broadcasts(operand.shape, target.shape):
                raise ArtifactError(
                    f"an operand of layer '{target.name}' has shape {operand.shape}, "
                    f"the result {target.shape}",
                    "Only operands of the same shape, per channel or scalar are supported.",
                )
        low, high = self._activation(operator.builtinOptions.fusedActivationFunction, target)
        scales = (first.scale, second.scale, target.scale)
        common = {
            "length": target.size_bytes,
            "in1_length": first.size_bytes,
            "in2_length": second.size_bytes,
            "in1_zero_point": first.zero_point,
            "in2_zero_point": second.zero_point,
            "out_zero_point": target.zero_point,
            "min": low,
            "max": high,
        }
        if kind == "MUL":
            return fx.MulS8(multiplier=fx.mul_multiplier(*scales), **common)
        in1, in2, out = fx.add_multipliers(*scales)
        return fx.AddS8(in1=in1, in2=in2, out=out, **common)

    def _softmax(self, operator: Any, source: Tensor, target: Tensor) -> fx.SoftmaxS8:
        if (target.scale, target.zero_point) != (1 / 256, -128):
            raise ArtifactError(
                f"the output of SOFTMAX '{target.name}' is not in steps of 1/256",
                "Convert the model again.",
            )
        beta = operator.builtinOptions.beta
        return fx.softmax_of(source.positions, source.channels, source.scale, beta)

    def _output(self, operator: Any, target: Tensor, activation: int, channels: int) -> fx.OutputS8:
        low, high = self._activation(activation, target)
        has_bias = len(operator.inputs) > 2 and operator.inputs[2] >= 0
        bias = (
            self._constant(int(operator.inputs[2]), np.int32, target.name)
            if has_bias
            else np.zeros(channels, np.int32)
        )
        if bias.shape != (channels,):
            raise ValueError(f"the bias of layer '{target.name}' has the wrong shape")
        none = np.zeros(0, np.int32)
        return fx.OutputS8(bias, none, none.astype(np.int8), target.zero_point, low, high)

    def _weights(self, operator: Any, layer: str) -> tuple[np.ndarray, np.ndarray]:
        index = int(operator.inputs[1])
        quantization = self.subgraph.tensors[index].quantization
        if np.any(quantization.zeroPoint):
            raise ArtifactError(
                f"the weights of layer '{layer}' are not symmetric", "Quantize the model again."
            )
        scales = np.asarray(quantization.scale, np.float32)
        if not np.all((scales > 0) & (scales < np.inf)):
            raise ValueError(f"the weights of layer '{layer}' have an impossible scale")
        return self._constant(index, np.int8, layer), scales

    def _convolution(
        self, operator: Any, source: Tensor, target: Tensor, depthwise: bool
    ) -> fx.ConvS8:
        options = operator.builtinOptions
        weights, scales = self._weights(operator, target.name)
        kernel_h, kernel_w = weights.shape[1:3]
        in_h, in_w, in_c = source.shape
        steps = (options.strideH, options.strideW, options.dilationHFactor, options.dilationWFactor)
        if min(steps) < 1:
            raise ValueError(f"layer '{target.name}' has an impossible stride or dilation")
        padding = _PADDING[options.padding]
        out_h, pad_top = fx.conv_window(
            in_h, kernel_h, options.strideH, options.dilationHFactor, padding
        )
        out_w, pad_left = fx.conv_window(
            in_w, kernel_w, options.strideW, options.dilationWFactor, padding
        )
        out_c = target.channels
        fits = (
            weights.shape == (1, kernel_h, kernel_w, out_c) and out_c % in_c == 0
            if depthwise
            else weights.shape == (out_c, kernel_h, kernel_w, in_c)
        )
        if (out_h, out_w, out_c) != target.shape or not fits:
            raise ArtifactError(
                f"the weights of layer '{target.name}' do not fit its tensors",
                "Convert the model again, without grouped convolutions.",
            )
        mantissa, shift = fx.output_multipliers(source.scale, scales, target.scale, out_c)
        out = self._output(operator, target, options.fusedActivationFunction, out_c)
        return fx.ConvS8(
            in_h=in_h,
            in_w=in_w,
            in_c=in_c,
            out_h=out_h,
            out_w=out_w,
            out_c=out_c,
            kernel_h=kernel_h,
            kernel_w=kernel_w,
            stride_h=options.strideH,
            stride_w=options.strideW,
            dilation_h=options.dilationHFactor,
            dilation_w=options.dilationWFactor,
            pad_top=pad_top,
            pad_left=pad_left,
            in_zero_point=source.zero_point,
            weights=weights[0] if depthwise else weights,
            out=replace(out, mantissa=mantissa, shift=shift),
        )

    def _fully_connected(
        self, operator: Any, source: Tensor, target: Tensor
    ) -> fx.FullyConnectedS8:
        weights, scales = self._weights(operator, target.name)
        outputs, inputs = weights.shape
        if inputs != source.size_bytes or outputs != target.size_bytes:
            raise ValueError(f"layer '{target.name}' has the wrong shape")
        mantissa, shift = fx.output_multipliers(source.scale, scales, target.scale, outputs)
        activation = operator.builtinOptions.fusedActivationFunction
        out = self._output(operator, target, activation, outputs)
        out = replace(out, mantissa=mantissa, shift=shift)
        return fx.FullyConnectedS8(inputs, outputs, source.zero_point, weights, out)

    def _mean(self, operator: Any, source: Tensor, target: Tensor) -> fx.MeanS8:
        constant = self._constant(int(operator.inputs[1]), np.int32, target.name)
        axes = sorted(int(a) for a in constant.ravel())
        if axes != [1, 2] or len(source.shape) != 3 or target.size_bytes != source.channels:
            raise ArtifactError(
                f"MEAN of layer '{target.name}' is not over height and width",
                "Use a global average pooling.",
            )
        return fx.MeanS8(
            positions=source.positions,
            channels=source.channels,
            in_zero_point=source.zero_point,
            out_zero_point=target.zero_point,
            multiplier=fx.mean_multiplier(source.scale, target.scale, source.positions),
        )


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether repeating an operand along the leading axes gives the target's shape."""
    size = int(np.prod(shape))
    ends = [int(np.prod(target[k:])) for k in range(len(target) + 1)]
    trimmed = tuple(d for d in shape if d != 1)
    return size in ends and trimmed == tuple(d for d in target[ends.index(size) :] if d != 1)


def _short(name: str) -> str:
    """model/block1_spatial/Relu6;model/... -> block1_spatial."""
    parts = name.split(";")[0].split("/")
    return parts[-2] if len(parts) > 1 else parts[0]


def _identifier(word: str) -> str:
    """One that C takes."""
    word = re.sub(r"\W", "_", word, flags=re.ASCII)
    return word if re.match(r"[A-Za-z]", word) else f"t_{word}"
