"""A convolution and the ADD behind it (SPEC 1.2) <-> snapuq_conv_add_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.add import AddS8, add_s8
from snapcli.fixedpoint.conv import ConvS8, conv_s8


@dataclass(frozen=True, eq=False)
class ConvAddS8:
    """in1 of add is the output of conv, in2 another tensor of that shape."""

    conv: ConvS8
    add: AddS8


def conv_add_s8(layer: ConvAddS8, x: NDArray[np.int8], other: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, in_h, in_w, in_c], other int8 [N, ...] of the output's size -> int8 [N, length].

    The sum is taken of the rounded output of the convolution, as TFLite does.
    """
    flat = conv_s8(layer.conv, x).reshape(len(x), -1)
    return add_s8(layer.add, flat, other.reshape(len(other), -1))
