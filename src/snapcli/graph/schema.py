"""The tables of a .tflite that we read: which field has which number, type and default."""

from typing import Any

import numpy as np

from snapcli.graph.flatbuffer import Buffer, Table

# name: (number, type) or (number, type, default). A type is that of a number, "text" or a table;
# in brackets: a vector of it.
_TABLES: dict[str, dict[str, tuple]] = {
    "Model": {
        "operator_codes": (1, "[OperatorCode]"),
        "subgraphs": (2, "[SubGraph]"),
        "buffers": (4, "[Buffer]"),
        "signature_defs": (7, "[SignatureDef]"),
    },
    "OperatorCode": {
        "deprecated_builtin_code": (0, "int8"),
        "custom_code": (1, "text"),
        "builtin_code": (3, "int32"),
    },
    "SubGraph": {
        "tensors": (0, "[Tensor]"),
        "inputs": (1, "[int32]"),
        "outputs": (2, "[int32]"),
        "operators": (3, "[Operator]"),
    },
    "Tensor": {
        "shape": (0, "[int32]"),
        "type": (1, "int8"),
        "buffer": (2, "uint32"),
        "name": (3, "text"),
        "quantization": (4, "QuantizationParameters"),
        "is_variable": (5, "bool"),
        "sparsity": (6, "Sparsity"),
        "shape_signature": (7, "[int32]"),
        "external_buffer": (10, "uint32"),
    },
    "Sparsity": {},
    "Buffer": {"data": (0, "[uint8]"), "offset": (1, "uint64"), "size": (2, "uint64")},
    "QuantizationParameters": {
        "scale": (2, "[float32]"),
        "zero_point": (3, "[int64]"),
        "quantized_dimension": (6, "int32"),
    },
    "Operator": {
        "opcode_index": (0, "uint32"),
        "inputs": (1, "[int32]"),
        "outputs": (2, "[int32]"),
        "options_type": (3, "uint8"),
    },
    "SignatureDef": {
        "inputs": (0, "[TensorMap]"),
        "outputs": (1, "[TensorMap]"),
        "subgraph_index": (4, "uint32"),
    },
    "TensorMap": {"name": (0, "text"), "tensor_index": (1, "uint32")},
    "NoOptions": {},
    "Conv2DOptions": {
        "padding": (0, "int8"),
        "stride_w": (1, "int32"),
        "stride_h": (2, "int32"),
        "activation": (3, "int8"),
        "dilation_w": (4, "int32", 1),
        "dilation_h": (5, "int32", 1),
    },
    "DepthwiseConv2DOptions": {
        "padding": (0, "int8"),
        "stride_w": (1, "int32"),
        "stride_h": (2, "int32"),
        "activation": (4, "int8"),
        "dilation_w": (5, "int32", 1),
        "dilation_h": (6, "int32", 1),
    },
    "Pool2DOptions": {
        "padding": (0, "int8"),
        "stride_w": (1, "int32"),
        "stride_h": (2, "int32"),
        "filter_w": (3, "int32"),
        "filter_h": (4, "int32"),
        "activation": (5, "int8"),
    },
    "FullyConnectedOptions": {
        "activation": (0, "int8"),
        "weights_format": (1, "int8"),
        "keep_num_dims": (2, "bool"),
    },
    "SoftmaxOptions": {"beta": (0, "float32")},
    "ConcatenationOptions": {"axis": (0, "int32"), "activation": (1, "int8")},
    "AddOptions": {"activation": (0, "int8")},
    "SubOptions": {"activation": (0, "int8")},
    "MulOptions": {"activation": (0, "int8")},
    "ReshapeOptions": {"new_shape": (0, "[int32]")},
    "GatherOptions": {"axis": (0, "int32"), "batch_dims": (1, "int32")},
    "ReducerOptions": {"keep_dims": (0, "bool")},
    "SqueezeOptions": {"squeeze_dims": (0, "[int32]")},
    "StridedSliceOptions": {
        "begin_mask": (0, "int32"),
        "end_mask": (1, "int32"),
        "ellipsis_mask": (2, "int32"),
        "new_axis_mask": (3, "int32"),
        "shrink_axis_mask": (4, "int32"),
        "offset": (5, "bool"),
    },
    "SplitOptions": {"num_splits": (0, "int32")},
    "PackOptions": {"axis": (1, "int32")},
    "ResizeNearestNeighborOptions": {
        "align_corners": (0, "bool"),
        "half_pixel_centers": (1, "bool"),
    },
    "LeakyReluOptions": {"alpha": (0, "float32")},
}
_OPTIONS_FIELD = 4  # of an Operator

# BuiltinOptions
_OPTIONS_TYPES = {
    "Conv2DOptions": 1,
    "DepthwiseConv2DOptions": 2,
    "Pool2DOptions": 5,
    "FullyConnectedOptions": 8,
    "SoftmaxOptions": 9,
    "ConcatenationOptions": 10,
    "AddOptions": 11,
    "ReshapeOptions": 17,
    "MulOptions": 21,
    "GatherOptions": 23,
    "ReducerOptions": 27,
    "SubOptions": 28,
    "SqueezeOptions": 30,
    "StridedSliceOptions": 32,
    "SplitOptions": 35,
    "PackOptions": 59,
    "ResizeNearestNeighborOptions": 74,
    "LeakyReluOptions": 75,
}

# BuiltinOperator: those that we read, with their options.
OPERATORS = {
    0: ("ADD", "AddOptions"),
    1: ("AVERAGE_POOL_2D", "Pool2DOptions"),
    2: ("CONCATENATION", "ConcatenationOptions"),
    3: ("CONV_2D", "Conv2DOptions"),
    4: ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions"),
    6: ("DEQUANTIZE", "NoOptions"),
    9: ("FULLY_CONNECTED", "FullyConnectedOptions"),
    14: ("LOGISTIC", "NoOptions"),
    17: ("MAX_POOL_2D", "Pool2DOptions"),
    18: ("MUL", "MulOptions"),
    19: ("RELU", "NoOptions"),
    21: ("RELU6", "NoOptions"),
    22: ("RESHAPE", "ReshapeOptions"),
    25: ("SOFTMAX", "SoftmaxOptions"),
    28: ("TANH", "NoOptions"),
    34: ("PAD", "NoOptions"),
    36: ("GATHER", "GatherOptions"),
    37: ("BATCH_TO_SPACE_ND", "NoOptions"),
    38: ("SPACE_TO_BATCH_ND", "NoOptions"),
    39: ("TRANSPOSE", "NoOptions"),
    40: ("MEAN", "ReducerOptions"),
    41: ("SUB", "SubOptions"),
    42: ("DIV", "NoOptions"),
    43: ("SQUEEZE", "SqueezeOptions"),
    45: ("STRIDED_SLICE", "StridedSliceOptions"),
    49: ("SPLIT", "SplitOptions"),
    53: ("CAST", "NoOptions"),
    65: ("SLICE", "NoOptions"),
    70: ("EXPAND_DIMS", "NoOptions"),
    77: ("SHAPE", "NoOptions"),
    81: ("REDUCE_PROD", "ReducerOptions"),
    82: ("REDUCE_MAX", "ReducerOptions"),
    83: ("PACK", "PackOptions"),
    94: ("FILL", "NoOptions"),
    97: ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    98: ("LEAKY_RELU", "LeakyReluOptions"),
    114: ("QUANTIZE", "NoOptions"),
    117: ("HARD_SWISH", "NoOptions"),
}
CUSTOM = 32

# TensorType
TYPES = {
    0: "float32",
    1: "float16",
    2: "int32",
    3: "uint8",
    4: "int64",
    6: "bool",
    7: "int16",
    9: "int8",
    17: "int4",
}


class Record:
    """A table whose fields are attributes, read when they are first asked for.

    A table that the file leaves out has every field at its default.
    """

    def __init__(self, kind: str, table: Table | None) -> None:
        self._kind, self._table = kind, table

    def __getattr__(self, name: str) -> Any:
        if name not in _TABLES[self._kind]:
            raise AttributeError(f"{self._kind} has no field {name}")
        value = self._read(*_TABLES[self._kind][name])
        self.__dict__[name] = value
        return value

    def __bool__(self) -> bool:
        """Whether the file has this table."""
        return self._table is not None

    def _read(self, field: int, kind: str, default: int = 0) -> Any:
        table = self._table
        element = kind.strip("[]")
        if kind == "text":
            return table.vector(field, "uint8").tobytes().decode(errors="replace") if table else ""
        if element in _TABLES:
            if kind == element:
                return Record(element, table.table(field) if table else None)
            return [Record(element, each) for each in (table.tables(field) if table else [])]
        if kind == element:
            return table.scalar(field, kind, default) if table else default
        return table.vector(field, element) if table else np.zeros(0, element)

    def place(self, name: str) -> int | None:
        """Where in the file this field is, None where it is left out."""
        return self._table.place(_TABLES[self._kind][name][0]) if self._table else None

    def options(self, kind: str) -> "Record":
        """The options of an Operator, of that kind."""
        table = self._table.table(_OPTIONS_FIELD) if self._table else None
        if table and kind in _OPTIONS_TYPES and self.options_type != _OPTIONS_TYPES[kind]:
            raise ValueError(f"an operator has options that are no {kind}")
        return Record(kind, table)


def read_model(buffer: Buffer) -> Record:
    return Record("Model", buffer.root())
