"""RESIZE_NEAREST_NEIGHBOR (SPEC 1.2) <-> snapuq_resize_nearest_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ResizeNearestS8:
    """row uint16 [out_h] and column uint16 [out_w]: where an output position looks."""

    in_w: int
    channels: int
    out_h: int
    out_w: int
    row: NDArray[np.uint16]
    column: NDArray[np.uint16]


def nearest_index(
    in_size: int, out_size: int, align_corners: bool, half_pixel_centers: bool
) -> NDArray[np.uint16]:
    """For each of out_size outputs along an axis, its input below in_size: uint16 [out_size].

    Computed in float32, as TFLite does, whose roundings show where an output lies between
    two inputs.
    """
    if align_corners and out_size > 1:
        scale = np.float32(in_size - 1) / np.float32(out_size - 1)
    else:
        scale = np.float32(in_size) / np.float32(out_size)
    offset = np.float32(0.5 if half_pixel_centers else 0.0)
    place = (np.arange(out_size, dtype=np.float32) + offset) * scale
    index = np.floor(place.astype(np.float64) + (0.5 if align_corners else 0.0))
    return np.minimum(index, in_size - 1).astype(np.uint16)


def resize_nearest_s8(layer: ResizeNearestS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, in_h, in_w, channels] -> int8 [N, out_h, out_w, channels]."""
    return x[:, layer.row][:, :, layer.column]
