"""The operators of TFLite that we compute: numpy function, C function and work of each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx

Kernel = (
    fx.ConvS8
    | fx.ConvAddS8
    | fx.FullyConnectedS8
    | fx.MeanS8
    | fx.PoolS8
    | fx.AddS8
    | fx.MulS8
    | fx.SoftmaxS8
    | fx.LutS8
    | fx.ClipS8
    | fx.AshS8
    | fx.CopyS8
    | fx.ConcatenationS8
    | fx.PadS8
    | fx.ResizeNearestS8
    | fx.QuantizeF32S8
    | fx.DequantizeS8F32
)
Activation = NDArray[np.int8]


@dataclass(frozen=True)
class Operator:
    """run(kernel, *sources) -> target, every array [n, ...]; macs(kernel): multiplications that
    are accumulated, or additions where there is nothing to multiply."""

    c_function: str
    run: Callable[..., NDArray]
    macs: Callable[[Any], int]


def _image(function: Callable[[Any, Activation], Activation], channels: str) -> Any:
    def run(kernel: Any, x: Activation) -> Activation:
        shape = (kernel.in_h, kernel.in_w, getattr(kernel, channels))
        return function(kernel, x.reshape(len(x), *shape))

    return run


def _flat(function: Callable[..., Activation]) -> Any:
    def run(kernel: Any, *sources: Activation) -> Activation:
        return function(kernel, *(x.reshape(len(x), -1) for x in sources))

    return run


def _fully_connected(kernel: fx.FullyConnectedS8, x: Activation) -> Activation:
    return fx.fully_connected_s8(kernel, x.reshape(len(x), kernel.rows, kernel.inputs))


def _copy(kernel: fx.CopyS8, x: Activation) -> Activation:
    output = np.empty((len(x), math.prod(kernel.count)), np.int8)
    fx.copy_s8(kernel, x.reshape(len(x), -1), output)
    return output


def _resize(kernel: fx.ResizeNearestS8, x: Activation) -> Activation:
    return fx.resize_nearest_s8(kernel, x.reshape(len(x), -1, kernel.in_w, kernel.channels))


def _conv_add(kernel: fx.ConvAddS8, x: Activation, other: Activation) -> Activation:
    shape = (kernel.conv.in_h, kernel.conv.in_w, kernel.conv.in_c)
    return fx.conv_add_s8(kernel, x.reshape(len(x), *shape), other)


def _softmax(kernel: fx.SoftmaxS8, x: Activation) -> Activation:
    return fx.softmax_s8(kernel, x.reshape(len(x), kernel.positions, kernel.classes))


def _window(kernel: fx.ConvS8 | fx.PoolS8, outputs: int) -> int:
    return kernel.out_h * kernel.out_w * outputs * kernel.kernel_h * kernel.kernel_w


def _nothing(kernel: Kernel) -> int:
    """Bytes that are moved or looked up are no work of this kind."""
    return 0


OPERATORS = {
    "CONV_2D": Operator(
        "snapuq_conv_s8", _image(fx.conv_s8, "in_c"), lambda k: _window(k, k.out_c) * k.in_c
    ),
    "DEPTHWISE_CONV_2D": Operator(
        "snapuq_depthwise_conv_s8",
        _image(fx.depthwise_conv_s8, "in_c"),
        lambda k: _window(k, k.out_c),
    ),
    "FULLY_CONNECTED": Operator(
        "snapuq_fully_connected_s8", _fully_connected, lambda k: k.rows * k.inputs * k.outputs
    ),
    "MEAN": Operator("snapuq_mean_s8", fx.mean_s8, lambda k: k.rows * k.positions * k.channels),
    "AVERAGE_POOL_2D": Operator(
        "snapuq_average_pool_s8",
        _image(fx.average_pool_s8, "channels"),
        lambda k: _window(k, k.channels),
    ),
    "MAX_POOL_2D": Operator(
        "snapuq_max_pool_s8", _image(fx.max_pool_s8, "channels"), lambda k: _window(k, k.channels)
    ),
    "REDUCE_MAX": Operator(
        "snapuq_max_pool_s8", _image(fx.max_pool_s8, "channels"), lambda k: _window(k, k.channels)
    ),
    "ADD": Operator("snapuq_add_s8", _flat(fx.add_s8), lambda k: k.length),
    "SUB": Operator("snapuq_sub_s8", _flat(fx.sub_s8), lambda k: k.length),
    "MUL": Operator("snapuq_mul_s8", _flat(fx.mul_s8), lambda k: k.length),
    "SOFTMAX": Operator("snapuq_softmax_s8", _softmax, lambda k: k.positions * k.classes),
    **dict.fromkeys(
        ("LOGISTIC", "TANH", "HARD_SWISH", "RELU", "RELU6", "LEAKY_RELU", "QUANTIZE"),
        Operator("snapuq_lut_s8", fx.lut_s8, _nothing),
    ),
    **dict.fromkeys(
        ("TRANSPOSE", "STRIDED_SLICE", "SPLIT", "BROADCAST_TO"),
        Operator("snapuq_copy_s8", _copy, _nothing),
    ),
    "CONCATENATION": Operator("snapuq_concatenation_s8", _flat(fx.concatenation_s8), _nothing),
    "PAD": Operator("snapuq_pad_s8", _flat(fx.pad_s8), _nothing),
    "RESIZE_NEAREST_NEIGHBOR": Operator("snapuq_resize_nearest_s8", _resize, _nothing),
    # QUANTIZE from float32: another kernel than from int8.
    "QUANTIZE_F32": Operator("snapuq_quantize_f32_s8", fx.quantize_f32_s8, _nothing),
    "DEQUANTIZE": Operator("snapuq_dequantize_s8_f32", fx.dequantize_s8_f32, _nothing),
}
# Made by graph/fusion.py of operators that a file has.
FUSED = {
    "CONV_2D+ADD": Operator(
        "snapuq_conv_add_s8",
        _conv_add,
        lambda k: _window(k.conv, k.conv.out_c) * k.conv.in_c + k.add.length,
    ),
}
# Put in by graph/shaping.py; no file has them.
CLIP, ASH = "CLIP", "ASH"
SHAPING = {
    CLIP: Operator("snapuq_clip_s8", _flat(fx.clip_s8), _nothing),
    ASH: Operator("snapuq_ash_s8", _flat(fx.ash_s8), _nothing),
}


def operator(name: str) -> Operator:
    return OPERATORS.get(name) or FUSED.get(name) or SHAPING[name]
