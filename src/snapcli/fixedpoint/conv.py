"""Convolutions (SPEC 1.2) <-> snapuq_conv_s8.c, snapuq_depthwise_conv_s8.c."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from snapcli.errors import ConfigError
from snapcli.fixedpoint.output import OutputS8, output_s8
from snapcli.fixedpoint.requantize import requantize

CHUNK_ELEMENTS = 1 << 20  # unfolded input elements worked on at once: bounds memory, fits caches


@dataclass(frozen=True, eq=False)
class ConvS8:
    """A convolution of NHWC int8 tensors; the fields are those of struct snapuq_conv_s8.

    weights int8: conv [out_c, kernel_h, kernel_w, in_c], depthwise [kernel_h, kernel_w, out_c].
    """

    in_h: int
    in_w: int
    in_c: int
    out_h: int
    out_w: int
    out_c: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int
    pad_top: int
    pad_left: int
    in_zero_point: int
    weights: NDArray[np.int8]
    out: OutputS8


def conv_window(
    size: int, kernel: int, stride: int, dilation: int, padding: str
) -> tuple[int, int]:
    """(output size, padding before) along one axis for padding "same" or "valid".

    Where "same" needs an odd number of padded elements, the extra one is at the end.
    """
    reach = (kernel - 1) * dilation + 1
    if padding == "valid":
        return (size - reach) // stride + 1, 0
    if padding == "same":
        out = -(-size // stride)
        return out, max(0, (out - 1) * stride + reach - size) // 2
    raise ConfigError(f"unknown padding {padding!r}", "use 'same' or 'valid'")


def conv_s8(layer: ConvS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, in_h, in_w, in_c] -> int8 [N, out_h, out_w, out_c]."""
    depth = layer.kernel_h * layer.kernel_w * layer.in_c
    # Sums of integers below 2^24 (2^53) are exact in float32 (float64), and BLAS is fast.
    exact = np.float32 if depth * 255 * 128 < 2**24 else np.float64
    weights = layer.weights.reshape(layer.out_c, depth).T.astype(exact)
    output = np.empty((len(x), layer.out_h, layer.out_w, layer.out_c), np.int8)
    for part in _chunks(len(x), layer.out_h * layer.out_w * max(depth, layer.out_c)):
        columns = _windows(layer, x[part], exact).reshape(-1, depth)
        accumulator = (columns @ weights).astype(np.int64)
        output[part] = _output(layer.out, accumulator).reshape(output[part].shape)
    return output


def depthwise_conv_s8(layer: ConvS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, in_h, in_w, in_c] -> int8 [N, out_h, out_w, out_c]; out_c = k * in_c."""
    repeat = layer.out_c // layer.in_c
    weights = layer.weights.astype(np.int32)
    output = np.empty((len(x), layer.out_h, layer.out_w, layer.out_c), np.int8)
    for part in _chunks(len(x), layer.out_h * layer.out_w * layer.out_c):
        windows = _windows(layer, x[part], np.int32)
        accumulator = np.zeros(output[part].shape, np.int32)
        for ky, kx in np.ndindex(layer.kernel_h, layer.kernel_w):
            tap = windows[:, :, :, ky, kx]
            wide = tap if repeat == 1 else np.repeat(tap, repeat, axis=-1)
            accumulator += wide * weights[ky, kx]
        output[part] = _output(layer.out, accumulator.astype(np.int64))
    return output


def _output(out: OutputS8, accumulator: NDArray[np.int64]) -> NDArray[np.int8]:
    return output_s8(out, requantize(accumulator + out.bias, out.mantissa, out.shift))


def _chunks(count: int, elements_each: int) -> Iterator[slice]:
    step = max(1, CHUNK_ELEMENTS // elements_each)
    return (slice(start, start + step) for start in range(0, count, step))


def _windows(layer: ConvS8, x: NDArray[np.int8], dtype: type[np.number]) -> NDArray:
    """A view [N, out_h, out_w, kernel_h, kernel_w, in_c] of x minus its zero point."""
    reach_h = (layer.kernel_h - 1) * layer.dilation_h + 1
    reach_w = (layer.kernel_w - 1) * layer.dilation_w + 1
    padded_h = max(layer.pad_top + layer.in_h, (layer.out_h - 1) * layer.stride_h + reach_h)
    padded_w = max(layer.pad_left + layer.in_w, (layer.out_w - 1) * layer.stride_w + reach_w)
    padded = np.zeros((len(x), padded_h, padded_w, layer.in_c), dtype)
    inside = padded[:, layer.pad_top :, layer.pad_left :][:, : layer.in_h, : layer.in_w]
    np.subtract(x, layer.in_zero_point, out=inside, dtype=dtype, casting="unsafe")
    view = sliding_window_view(padded, (reach_h, reach_w), axis=(1, 2))
    view = view[
        :, :: layer.stride_h, :: layer.stride_w, :, :: layer.dilation_h, :: layer.dilation_w
    ]
    return view[:, : layer.out_h, : layer.out_w].transpose(0, 1, 2, 4, 5, 3)
