"""Pooling (SPEC 1.2) <-> snapuq_average_pool_s8.c, snapuq_max_pool_s8.c."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PoolS8:
    """A pooling of NHWC int8 tensors; the fields are those of struct snapuq_pool_s8.

    Input and output share scale and zero point; min and max fuse an activation. Every
    window reaches at least one element of the input.
    """

    in_h: int
    in_w: int
    channels: int
    out_h: int
    out_w: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    pad_top: int
    pad_left: int
    min: int
    max: int


def average_pool_s8(layer: PoolS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, in_h, in_w, channels] -> int8 [N, out_h, out_w, channels].

    The mean of the elements inside the input, rounded half away from zero.
    """
    total = sum(_taps(layer, x.astype(np.int32), 0))
    count = sum(_taps(layer, np.ones((1, layer.in_h, layer.in_w, 1), np.int32), 0))
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return np.clip(mean, layer.min, layer.max).astype(np.int8)


def max_pool_s8(layer: PoolS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, in_h, in_w, channels] -> int8 [N, out_h, out_w, channels]."""
    largest = np.maximum.reduce(list(_taps(layer, x, -128)))
    return np.clip(largest, layer.min, layer.max).astype(np.int8)


def reduce_max_pool(
    in_h: int, in_w: int, channels: int, over_h: bool = True, over_w: bool = True
) -> PoolS8:
    """REDUCE_MAX over height, width or both: max pooling with one window as long as the axis."""
    kernel_h, kernel_w = in_h if over_h else 1, in_w if over_w else 1
    out_h, out_w = in_h // kernel_h, in_w // kernel_w
    window = (kernel_h, kernel_w, 1, 1, 0, 0)
    return PoolS8(in_h, in_w, channels, out_h, out_w, *window, min=-128, max=127)


def _taps(layer: PoolS8, x: NDArray, outside: int) -> Iterator[NDArray]:
    """For each place in the window, what all windows have there: [N, out_h, out_w, C]."""
    span_h = (layer.out_h - 1) * layer.stride_h + 1
    span_w = (layer.out_w - 1) * layer.stride_w + 1
    padded_h = max(layer.pad_top + layer.in_h, span_h + layer.kernel_h - 1)
    padded_w = max(layer.pad_left + layer.in_w, span_w + layer.kernel_w - 1)
    padded = np.full((len(x), padded_h, padded_w, x.shape[-1]), outside, x.dtype)
    padded[:, layer.pad_top :, layer.pad_left :][:, : layer.in_h, : layer.in_w] = x
    for ky, kx in np.ndindex(layer.kernel_h, layer.kernel_w):
        yield padded[:, ky : ky + span_h : layer.stride_h, kx : kx + span_w : layer.stride_w]
