"""The tensors of a .tflite as they become known while its operators are read in order."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph.flatbuffer import Buffer
from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.graph.operators import Kernel
from snapcli.graph.schema import TYPES, Record
from snapcli.graph.shapes import Shape

ACTIVATION_BYTES_MAX = 16 << 20  # far above the RAM of any microcontroller
OPERATORS_MAX = 2048
LAYERS_MAX = 4096  # one per part of a SPLIT
RANK_MAX = 6
INTEGERS_MAX = 4096  # of a parameter, or of an operator of shape arithmetic
NAME_MAX = 60  # characters
SCALE_MIN, SCALE_MAX = 1e-12, 1e12  # between them float32 holds every ratio and product
INTEGER_TYPES = ("int32", "int64")


@dataclass(frozen=True)
class Node:
    """An operator of the file; its inputs and outputs are indices of tensors, -1 if left out."""

    kind: str
    label: str
    options: Record
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def refuse(self, what: str, hint: str) -> ArtifactError:
        return ArtifactError(f"{self.kind} of layer '{self.label}' {what}", hint)


@dataclass(frozen=True)
class Value:
    """An activation, and its shape in the file: that of the tensor with the batch axis."""

    tensor: Tensor
    shape: Shape

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def quantization(self) -> fx.Quantization:
        return fx.Quantization(self.tensor.scale, self.tensor.zero_point)


class Network:
    """What has been read so far.

    values: activations by their index in the file. integers: parameters and the constants of
    shape arithmetic, as int64.
    """

    def __init__(self, buffer: Buffer, model: Record) -> None:
        (self.subgraph,) = model.subgraphs
        self._buffer, self._buffers = buffer, model.buffers
        self._inputs, self._outputs = _signature(model)
        self._names: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._expanded = 0
        self.tensors: dict[str, Tensor] = {}
        self.constants: dict[str, NDArray[np.int8]] = {}
        self.views: dict[str, str] = {}
        self.layers: list[Layer] = []
        self.values: dict[int, Value] = {}
        self.integers: dict[int, NDArray[np.int64]] = {}

    def raw(self, index: int) -> Record:
        if not 0 <= index < len(self.subgraph.tensors):
            raise ValueError(f"there is no tensor {index}")
        raw = self.subgraph.tensors[index]
        if len(raw.shape) > RANK_MAX:
            raise ArtifactError(
                f"tensor '{self.name(index)}' has {len(raw.shape)} axes",
                f"Use at most {RANK_MAX}.",
            )
        if raw.sparsity or raw.is_variable:
            raise ArtifactError(
                f"tensor '{self.name(index)}' is {'sparse' if raw.sparsity else 'a variable'}",
                "Convert the model without pruning formats and states.",
            )
        return raw

    def type(self, index: int) -> str:
        code = self.raw(index).type
        return TYPES.get(code, f"of type {code}")

    def name(self, index: int) -> str:
        """A short identifier of its own."""
        if index not in self._names:
            word = self._outputs.get(index) or _short(self.subgraph.tensors[index].name)
            self._names[index] = self.unique(word)
        return self._names[index]

    def unique(self, word: str) -> str:
        name = _identifier(word)
        candidate = name
        while candidate in self._taken:
            self._taken[name] += 1
            candidate = f"{name}_{self._taken[name]}"
        self._taken[candidate] = 1
        return candidate

    def input(self, index: int) -> str:
        """Makes the tensor an input of the graph; a batch that may have any size is 1."""
        only = len(self.subgraph.inputs) == 1
        if index in self.values:
            raise ValueError(f"input '{self.name(index)}' is listed twice")
        if index not in self._names:
            word = self._inputs.get(index) or _short(self.raw(index).name)
            self._names[index] = self.unique("input" if only else word)
        raw = self.raw(index)
        shape = tuple(int(d) for d in raw.shape)
        if len(raw.shape_signature) and raw.shape_signature[0] == -1:
            shape = (1, *shape[1:])
        if len(shape) > 1 and shape[0] != 1:
            raise ArtifactError(
                f"input '{self.name(index)}' is a batch of {shape[0]}", "Convert it for batch 1."
            )
        dtype = "float32" if self.type(index) == "float32" else "int8"
        return self.define(index, shape, dtype).name

    def define(self, index: int, shape: Sequence[int], dtype: str = "int8") -> Value:
        """The tensor of this index is known from now on; shape as its operator computes it."""
        if index in self.values or index in self.integers:
            raise ValueError(f"tensor '{self.name(index)}' is computed twice")
        quantization = self.checked(index, shape, dtype)
        tensor = self._add(self.name(index), shape, *quantization, dtype, index)
        self.values[index] = Value(tensor, tuple(shape))
        return self.values[index]

    def checked(self, index: int, shape: Sequence[int], dtype: str = "int8") -> tuple[float, int]:
        """(scale, zero point) of a tensor that is of this type, and of this shape as far as the
        file knows."""
        if self.type(index) != dtype:
            raise ArtifactError(
                f"tensor '{self.name(index)}' is not {dtype} but {self.type(index)}",
                "Quantize the whole model to int8, its inputs and outputs to int8 or float32.",
            )
        if not _agrees(self.raw(index), shape):
            raise ValueError(f"tensor '{self.name(index)}' has the wrong shape")
        if len(shape) > RANK_MAX:
            raise ArtifactError(
                f"tensor '{self.name(index)}' has {len(shape)} axes", f"Use at most {RANK_MAX}."
            )
        return (1.0, 0) if dtype == "float32" else self._quantization(index)

    def derive(self, label: str, like: Value, shape: Sequence[int]) -> Value:
        """A tensor that the file does not have, with the quantization of one that it has."""
        source = like.tensor
        tensor = self._add(self.unique(label), shape, source.scale, source.zero_point, "int8")
        return Value(tensor, tuple(shape))

    def view(self, index: int, source: Value, shape: Shape) -> None:
        """The same bytes under another shape."""
        self._show(self.define(index, shape), source)

    def derive_view(self, label: str, source: Value, shape: Shape) -> Value:
        """A view that the file does not have."""
        target = self.derive(label, source, shape)
        self._show(target, source)
        return target

    def add(self, kind: str, kernel: Kernel, sources: Sequence[Value], target: Value) -> None:
        if len(self.layers) == LAYERS_MAX:
            raise ArtifactError(
                f"the model has more than {LAYERS_MAX} layers", "Split it into smaller ones."
            )
        names = tuple(source.name for source in sources)
        self.layers.append(Layer(target.name, kind, kernel, names, target.name))

    def source(self, node: Node, position: int = 0, dtype: str = "int8") -> Value:
        """An activation that was computed before."""
        index = _index(node, position)
        if index in self.values:
            value = self.values[index]
            if value.tensor.dtype != dtype:
                raise node.refuse(
                    f"works on {value.tensor.dtype}", "Quantize the whole model to int8."
                )
            return value
        if index in self.integers or self._data(index).size:
            raise node.refuse(
                f"works on a constant of {self.type(index)}", "Quantize the whole model to int8."
            )
        raise ValueError(f"layer '{node.label}' reads what no layer before it computes")

    def source_type(self, node: Node) -> str:
        return self.type(_index(node, 0))

    def shape(self, node: Node, position: int) -> Shape:
        """Of an activation or a constant."""
        index = _index(node, position)
        if index in self.values:
            return self.values[index].shape
        return tuple(int(d) for d in self.raw(index).shape)

    def operand(self, node: Node, position: int, to: Shape | None = None) -> Value:
        """An activation or a constant. A constant that does not repeat along the leading axes
        is expanded to the shape `to`."""
        index = _index(node, position)
        if index in self.values or index in self.integers or not self._data(index).size:
            return self.source(node, position)
        values = self.constant(index, "int8", node)
        if to is not None and not repeats(values.shape, to):
            self._expanded += math.prod(to)
            if self._expanded > ACTIVATION_BYTES_MAX:
                raise node.refuse("has constants that are too large", "Broadcast less.")
            values = np.broadcast_to(values, to)
        scale, zero_point = self._quantization(index)
        name = self.unique(f"{node.label}_operand")
        tensor = self._add(name, values.shape, scale, zero_point, "int8")
        self.constants[name] = np.ascontiguousarray(values).ravel()
        return Value(tensor, values.shape)

    def constant(self, index: int, dtype: str, node: Node) -> NDArray:
        """Numbers that the file has, in the tensor's shape."""
        raw = self.raw(index)
        if self.type(index) != dtype:
            raise ArtifactError(
                f"a constant of layer '{node.label}' is not {dtype} but {self.type(index)}",
                "Quantize the whole model to int8.",
            )
        data = self._data(index)
        shape = tuple(int(d) for d in raw.shape)
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if index in self.values or (size and not data.size):
            raise ArtifactError(
                f"{node.kind} of layer '{node.label}' has weights or parameters that are no "
                "constants",
                "Convert a model that computes only activations.",
            )
        if min(shape, default=1) < 0 or size != data.size:
            raise ValueError(f"a constant of layer '{node.label}' has the wrong size")
        values = data.view(np.dtype(dtype).newbyteorder("<")).reshape(shape)
        self._buffer.spend(values.size)
        return values

    def spend(self, elements: int) -> None:
        """Counts the elements of a table that is made for a layer as if they were read."""
        self._buffer.spend(elements)

    def integer(self, node: Node, position: int) -> NDArray[np.int64]:
        """A parameter of the operator: a constant of the file or of shape arithmetic."""
        index = _index(node, position)
        if index not in self.integers:
            dtype = self.type(index)
            values = self.constant(index, dtype if dtype in INTEGER_TYPES else "int32", node)
            if values.size > INTEGERS_MAX:
                raise ValueError(f"layer '{node.label}' has {values.size} integers")
            self.integers[index] = values.astype(np.int64)
        return self.integers[index]

    def weights(self, node: Node, axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """(symmetric weights, their scales: one per channel along the axis, or one for all)"""
        index = _index(node, 1)
        values = self.constant(index, "int8", node)
        quantization = self.raw(index).quantization
        scales = quantization.scale
        if np.any(quantization.zero_point):
            raise ArtifactError(
                f"the weights of layer '{node.label}' are not symmetric",
                "Quantize the model again.",
            )
        self._buffer.spend(scales.size)
        known = bool(scales.size) and np.all((scales > 0) & (scales < np.inf))
        whole = scales.size == 1
        if not known or values.ndim <= axis or scales.size not in (1, values.shape[axis]):
            raise ValueError(f"the weights of layer '{node.label}' have an impossible scale")
        if not whole and quantization.quantized_dimension != axis:
            raise ArtifactError(
                f"the weights of layer '{node.label}' have scales along another axis",
                "Quantize the model again.",
            )
        return values, scales

    def graph(self, inputs: Sequence[str]) -> Graph:
        outputs: dict[str, str] = {}
        for index in (int(i) for i in self.subgraph.outputs):
            name = self._outputs.get(index, self.name(index) if index in self._names else "")
            if index not in self.values or name in outputs:
                raise ArtifactError(
                    f"output {len(outputs)} of the model is a constant or listed twice",
                    "Convert a model whose outputs are computed.",
                )
            target = self.values[index].name
            if self.views.get(target, target) in inputs:
                raise ArtifactError(
                    f"output '{name}' is an input of the model", "Leave it out of the model."
                )
            outputs[name] = target
        if not outputs:
            raise ValueError("the model has no outputs")
        return Graph(
            self.tensors, tuple(self.layers), tuple(inputs), outputs, self.constants, self.views
        )

    def _add(
        self,
        name: str,
        shape: Sequence[int],
        scale: float,
        zero_point: int,
        dtype: str,
        index: int | None = None,
    ) -> Tensor:
        if min(shape, default=1) < 1:
            raise ValueError(f"tensor '{name}' has an impossible shape")
        dropped = shape[1:] if len(shape) > 0 and shape[0] == 1 else shape
        tensor = Tensor(name, tuple(dropped) or (1,), scale, zero_point, dtype, index)
        if tensor.size_bytes > ACTIVATION_BYTES_MAX:
            raise ArtifactError(
                f"tensor '{name}' has {tensor.size_bytes} bytes",
                f"At most {ACTIVATION_BYTES_MAX} are possible.",
            )
        self.tensors[name] = tensor
        return tensor

    def _show(self, view: Value, source: Value) -> None:
        self.views[view.name] = self.views.get(source.name, source.name)

    def _quantization(self, index: int) -> tuple[float, int]:
        """(scale, zero point) of an int8 tensor."""
        quantization = self.raw(index).quantization
        if quantization.scale.size != 1 or quantization.zero_point.size > 1:
            raise ArtifactError(
                f"tensor '{self.name(index)}' has no single scale", "Quantize the model again."
            )
        scale = float(quantization.scale[0])
        zero_point = int(quantization.zero_point[0]) if quantization.zero_point.size else 0
        if not (SCALE_MIN <= scale <= SCALE_MAX and -128 <= zero_point <= 127):
            raise ValueError(f"tensor '{self.name(index)}' has an impossible scale or zero point")
        return scale, zero_point

    def _data(self, index: int) -> NDArray[np.uint8]:
        raw = self.raw(index)
        if raw.buffer >= len(self._buffers):
            raise ValueError(f"there is no buffer {raw.buffer}")
        buffer = self._buffers[raw.buffer]
        if raw.external_buffer or max(buffer.offset, buffer.size) > 1:
            raise ArtifactError(
                f"the data of tensor '{self.name(index)}' stand outside of the flatbuffer",
                "Convert the model into a single file below 2 GB.",
            )
        return buffer.data


def repeats(shape: Sequence[int], to: Shape) -> bool:
    """Whether repeating an operand along the leading axes broadcasts it to a shape."""
    full = (1,) * (len(to) - len(shape)) + tuple(shape)
    lead = next((k for k, d in enumerate(full) if d != 1), len(full))
    # Axes of 1 may be counted to either side.
    return any(full[k:] == to[k:] for k in range(lead + 1))


def _index(node: Node, position: int) -> int:
    if position >= len(node.inputs) or node.inputs[position] < 0:
        raise ValueError(f"layer '{node.label}' lacks an input")
    return node.inputs[position]


def _agrees(raw: Record, shape: Sequence[int]) -> bool:
    """Whether the file says the same, where it says anything: a size that it does not know
    stands there as 1."""
    if not len(raw.shape):
        return True
    signature = raw.shape_signature if len(raw.shape_signature) else raw.shape
    return len(raw.shape) == len(signature) == len(shape) and all(
        length in (1, size) or sign == -1
        for length, sign, size in zip(raw.shape, signature, shape, strict=True)
    )


def _signature(model: Record) -> tuple[dict[int, str], dict[int, str]]:
    """Names of inputs and of outputs by tensor."""
    for signature in model.signature_defs:
        if signature.subgraph_index == 0:
            return (
                {entry.tensor_index: entry.name for entry in signature.inputs},
                {entry.tensor_index: entry.name for entry in signature.outputs},
            )
    return {}, {}


def _short(name: str) -> str:
    """model/block1_spatial/Relu6;model/... -> block1_spatial."""
    # A dilated convolution of three operators has a level of its own, a batch norm of Keras, too.
    levels = name.split(";")[0].removesuffix("/BatchToSpaceND").split("/")
    parts = [level for level in levels if level != "batchnorm"] or levels
    return parts[-2] if len(parts) > 1 else parts[0]


def _identifier(word: str) -> str:
    """One that C takes."""
    word = re.sub(r"\W", "_", word[:NAME_MAX], flags=re.ASCII)
    return word if re.match(r"[A-Za-z]", word) else f"t_{word}"
