"""The tiny classifier as somebody else would have converted it: a softmax at its end, no name
for its taps, and perhaps real numbers at both ends."""

from functools import cache

import numpy as np

from ..golden import tflite_op as op
from .tiny_monitor import CLASSES, INPUT_SHAPE, tiny_ops


@cache
def foreign_ops() -> tuple[op.OneOp, ...]:
    """stem, spatial, block, pool, logits, softmax."""
    logits = tiny_ops()[-1].output
    probabilities = op.Tensor([1, CLASSES], [1 / 256], -128)
    return (*tiny_ops(), op.softmax(logits, probabilities, 1.0))


@cache
def foreign_tflite() -> bytes:
    return op.flatbuffer(foreign_ops(), {"Identity": 5})


@cache
def float_ended_tflite() -> bytes:
    """float32 -> QUANTIZE -> the same network -> DEQUANTIZE -> float32."""
    first, last = foreign_ops()[0].inputs[0], foreign_ops()[-1].output
    image = op.Tensor([1, *INPUT_SHAPE], dtype=np.float32)
    answer = op.Tensor([1, CLASSES], dtype=np.float32)
    ends = (op.elementwise("QUANTIZE", image, first), op.elementwise("DEQUANTIZE", last, answer))
    return op.flatbuffer((ends[0], *foreign_ops(), ends[1]), {"Identity": 7})
