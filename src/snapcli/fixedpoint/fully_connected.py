"""Fully connected layer (SPEC 1.2) <-> snapuq_fully_connected_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.output import OutputS8, output_s8
from snapcli.fixedpoint.requantize import requantize_once


@dataclass(frozen=True, eq=False)
class FullyConnectedS8:
    """weights int8 [outputs, inputs], symmetric; each of the rows is a vector of its own."""

    inputs: int
    outputs: int
    in_zero_point: int
    weights: NDArray[np.int8]
    out: OutputS8
    rows: int = 1


def fully_connected_s8(layer: FullyConnectedS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [..., inputs] -> int8 [..., outputs]; unlike a convolution it rounds only once."""
    centred = x.astype(np.float64) - layer.in_zero_point
    accumulator = (centred @ layer.weights.T.astype(np.float64)).astype(np.int64)
    out = layer.out
    return output_s8(out, requantize_once(accumulator + out.bias, out.mantissa, out.shift))
