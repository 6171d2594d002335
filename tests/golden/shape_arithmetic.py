"""A model whose sizes are computed: every operator of shape arithmetic at least once."""

from typing import Any

import numpy as np

from . import tflite_op as op

SCHEMA_INT32, SCHEMA_INT64 = (op.TYPES[np.dtype(t)] for t in (np.int32, np.int64))
IMAGE = op.Tensor([1, 7, 6, 4], [0.05], -3)


def integers(count: int | None = None, dtype: Any = np.int32) -> op.Tensor:
    return op.Tensor([] if count is None else [count], dtype=dtype)


def numbers(*values: int) -> op.Tensor:
    return op.Tensor([len(values)], data=np.array(values, np.int32))


def scalar(value: int) -> op.Tensor:
    return op.Tensor([], data=np.array(value, np.int32))


def shape_arithmetic() -> bytes:
    """Reshapes [1, 7, 6, 4] to [1, 42, 4] and [1, 168]."""
    model = op.Model()

    def fold(
        code: str,
        options: str,
        inputs: list[op.Tensor],
        out: op.Tensor,
        *sources: int,
        **fields: Any,
    ) -> int:
        made = op.operator(code, inputs, out, options, version=1, **fields)
        return model.apply(made, *sources)[0]

    (image,) = model.apply(op.elementwise("RELU", IMAGE, IMAGE), model.input(IMAGE))
    (shape,) = model.apply(op.shape(IMAGE), image)
    (batch,) = model.apply(op.first_of(4), shape)
    sides = fold("GATHER", "Gather", [integers(4), numbers(1, 2)], integers(2), shape, axis=0)
    area = fold("REDUCE_PROD", "Reducer", [integers(2), numbers(0)], integers(), sides)  # 42
    types = {"inDataType": SCHEMA_INT32, "outDataType": SCHEMA_INT64}
    wide = fold("CAST", "Cast", [integers()], integers(dtype=np.int64), area, **types)
    types = {"inDataType": SCHEMA_INT64, "outDataType": SCHEMA_INT32}
    narrow = fold("CAST", "Cast", [integers(dtype=np.int64)], integers(), wide, **types)
    half = fold("DIV", "Div", [integers(), scalar(-4)], integers(), narrow)  # -10, towards zero
    product = fold("MUL", "Mul", [integers(), scalar(-4)], integers(), half)  # 40
    more = fold("ADD", "Add", [integers(), scalar(5)], integers(), product)
    less = fold("SUB", "Sub", [integers(), scalar(3)], integers(), more)  # 42
    row = fold("EXPAND_DIMS", "ExpandDims", [integers(), scalar(0)], integers(1), less)
    plain = fold("SQUEEZE", "Squeeze", [integers(1)], integers(), row, squeezeDims=[0])
    again = fold("RESHAPE", "Reshape", [integers(), numbers(1)], integers(1), plain, newShape=[1])
    ones = fold("FILL", "Fill", [numbers(1), integers()], integers(1), batch)
    parts = [integers(1), integers(1), numbers(-1, 9)]
    joined = fold("CONCATENATION", "Concatenation", parts, integers(4), ones, again, axis=0)
    wanted = fold("SLICE", "Slice", [integers(4), numbers(0), numbers(3)], integers(3), joined)
    rows = op.Tensor([1, 42, 4], IMAGE.scale, IMAGE.zero_point)
    result = fold("RESHAPE", "Reshape", [IMAGE, integers(3)], rows, image, wanted)
    (packed,) = model.apply(op.pack([-1]), batch)
    flat = op.Tensor([1, 168], IMAGE.scale, IMAGE.zero_point)
    line = fold("RESHAPE", "Reshape", [rows, integers(2)], flat, result, packed)
    (end,) = model.apply(op.elementwise("RELU", flat, flat), line)
    return model.flatbuffer({"rows": result, "flat": end})
