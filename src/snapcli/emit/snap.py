"""The kernel set `snap`: packed weights for the DSP extension; the rest is the fallback's.

To the fallback go operators without a kernel here (see the cases of _lower), depthwise layers of
two or three channels or with several outputs for each of several inputs, sums whose operands
repeat, and layers, heads and distances whose packed form could overflow or round otherwise
(emit/packing.py): a layer with an effective scale of one half or more, for example.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.config import SNAP
from snapcli.emit.lowering import DistanceSite, HeadSite, KernelSet, Lowered, LoweredResidual
from snapcli.emit.overlap import slack
from snapcli.emit.packing import (
    KERNEL_H_MAX,
    QUAD,
    is_3x3,
    pack_add,
    pack_conv,
    pack_conv_add,
    pack_depthwise,
    pack_fully_connected,
    pack_head,
    pack_mahalanobis,
    pack_pointwise,
    spread_conv,
)
from snapcli.emit.text import constant_bytes, struct, struct_type
from snapcli.fixedpoint import AddS8, ConvAddS8, ConvS8, FullyConnectedS8, MeanS8, PoolS8
from snapcli.graph.graph import Graph, Layer

_TILE = 4  # positions


class Snap:
    """Our packed kernels; what they cannot do is the fallback's."""

    name = SNAP
    prelude = '#include "snapnn.h"\n'
    head_header = "snapnn.h"

    def __init__(self, fallback: KernelSet) -> None:
        self.fallback = fallback

    def fuses(self, layer: Layer) -> bool:
        """A sum that cannot be packed should not keep its convolution from it."""
        return isinstance(layer.kernel, ConvAddS8) and pack_conv_add(layer.kernel) is not None

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        name = f"{pointers[layer.target]}_layer"
        sources = [pointers[source] for source in layer.sources]
        lowered = _lower(layer, name, sources, pointers[layer.target], scratch)
        return lowered or self.fallback.lower(layer, graph, pointers, scratch)

    def lower_residual(self, site: HeadSite) -> LoweredResidual:
        head, inverse_sigma = pack_head(site.head.residual, site.bounds), site.inverse_sigma
        if head is None:
            return self.fallback.lower_residual(site)
        outputs = (site.scratch.name, site.u.name, inverse_sigma.name if inverse_sigma else "0")
        arguments = f"{', '.join(site.sums)},\n        {', '.join((site.predicted, *outputs))}"
        return LoweredResidual(
            struct_type(head),
            struct(head, site.name, {"inverse_sigma_q9": site.table}, static=False),
            f"snapnn_residual_s8(&{site.name}, {arguments});",
            constant_bytes(head) - head.inverse_sigma_q9.nbytes,
        )

    def lower_distance(self, site: DistanceSite) -> Lowered:
        packed = pack_mahalanobis(site.head, site.bound)
        if packed is None:
            return self.fallback.lower_distance(site)
        return site.lowered("snapnn_mahalanobis_s8", packed)


def _lower(
    layer: Layer, name: str, sources: list[str], target: str, scratch: str
) -> Lowered | None:
    kernel = layer.kernel

    def made(
        function: str,
        packed: Any,
        allowed: tuple[int | None, ...],
        scratch_bytes: int = 0,
        operands: list[str] = sources,
    ) -> Lowered | None:
        if packed is None:
            return None
        arguments = [f"&{name}", *operands, *([scratch] if scratch_bytes else []), target]
        return Lowered(
            definitions=struct(packed, name, {}),
            call=f"snapnn_{function}({', '.join(arguments)});",
            constant_bytes=constant_bytes(packed),
            scratch_bytes=scratch_bytes,
            slack=allowed,
        )

    match kernel:
        case ConvS8() if layer.operator == "DEPTHWISE_CONV_2D" and kernel.in_c > 1:
            if not kernel.in_c == kernel.out_c >= QUAD or kernel.kernel_h > KERNEL_H_MAX:
                return None
            function = "depthwise3x3_s8" if is_3x3(kernel) else "depthwise_s8"
            allowed = (_row_slack(kernel),)
            return made(function, pack_depthwise(kernel), allowed, _rows_bytes(kernel))
        case ConvS8() if layer.operator == "DEPTHWISE_CONV_2D":
            allowed = (_tiled_slack(kernel),)
            return made("conv_s8", pack_conv(spread_conv(kernel)), allowed, _columns_bytes(kernel))
        case ConvS8() if _is_pointwise(kernel):
            allowed = (_tiled_slack(kernel),)
            return made("pointwise_s8", pack_pointwise(kernel), allowed, _columns_bytes(kernel))
        case ConvS8():
            allowed = (_tiled_slack(kernel),)
            return made("conv_s8", pack_conv(kernel), allowed, _columns_bytes(kernel))
        case ConvAddS8():
            both = (_tiled_slack(kernel.conv), 0)
            scratch_bytes = _columns_bytes(kernel.conv) + _TILE * kernel.conv.out_c
            return made("conv_add_s8", pack_conv_add(kernel), both, scratch_bytes)
        case AddS8() if layer.operator == "ADD" and _same_lengths(kernel):
            add, swapped = pack_add(kernel) or (None, False)
            ordered = sources[::-1] if swapped else sources
            return made("add_s8", add, (0, 0), operands=ordered)
        case FullyConnectedS8():
            return made("fully_connected_s8", pack_fully_connected(kernel), slack(layer))
        case PoolS8() | MeanS8():
            # Parameters are those of the plain kernel.
            return made(layer.c_function.removeprefix("snapuq_"), kernel, slack(layer))
    return None


def _is_pointwise(kernel: ConvS8) -> bool:
    window = (kernel.kernel_h, kernel.kernel_w, kernel.stride_h, kernel.stride_w)
    return window == (1, 1, 1, 1) and (kernel.out_h, kernel.out_w) == (kernel.in_h, kernel.in_w)


def _same_lengths(kernel: AddS8) -> bool:
    return kernel.length == kernel.in1_length == kernel.in2_length


def _columns_bytes(kernel: ConvS8) -> int:
    """SNAPNN_COLUMNS_BYTES"""
    return 36 * -(-kernel.kernel_h * kernel.kernel_w * kernel.in_c // 4) + 4


def _rows_bytes(kernel: ConvS8) -> int:
    """struct snapnn_rows"""
    reach = (kernel.kernel_w - 1) * kernel.dilation_w + 1
    columns = (kernel.out_w - 1) * kernel.stride_w + reach
    return _reach_h(kernel) * columns * kernel.in_c


def _reach_h(kernel: ConvS8) -> int:
    return (kernel.kernel_h - 1) * kernel.dilation_h + 1


def _tiled_slack(kernel: ConvS8) -> int:
    """A tile has read all that it needs before it writes; the last positions go one by one."""
    count = kernel.out_h * kernel.out_w
    whole = count // _TILE * _TILE
    ends = np.array([*range(_TILE, whole + 1, _TILE), *range(whole + 1, count + 1)])
    top = np.maximum(np.arange(kernel.out_h) * kernel.stride_h - kernel.pad_top, 0)
    left = np.maximum(np.arange(kernel.out_w) * kernel.stride_w - kernel.pad_left, 0)
    first = ((top[:, np.newaxis] * kernel.in_w + left) * kernel.in_c).ravel()
    return _largest_lead(kernel, ends, first)


def _row_slack(kernel: ConvS8) -> int:
    """All rows of a window lie in scratch before a row of the output is written."""
    rows = np.arange(kernel.out_h)
    # The first row of the input that this row of the output is the first to need.
    top = rows * kernel.stride_h - kernel.pad_top
    fresh = np.maximum(top, np.where(rows > 0, top - kernel.stride_h + _reach_h(kernel), 0))
    first = np.maximum(fresh, 0) * kernel.in_w * kernel.in_c
    ends = (rows + 1) * kernel.out_w
    return _largest_lead(kernel, ends, np.repeat(first, kernel.out_w))


def _largest_lead(kernel: ConvS8, ends: NDArray[np.int_], first: NDArray[np.int_]) -> int:
    """The most by which what is written runs ahead of what is still to be read.

    ends: positions of the output that are complete after each step; first: by position of the
    output, the first byte of the input that it needs. After the last step nothing is read.
    """
    needed = np.minimum.accumulate(first[::-1])[::-1]
    inner = ends[:-1]
    anywhere = -kernel.in_h * kernel.in_w * kernel.in_c
    return int(np.max(inner * kernel.out_c - needed[inner], initial=anywhere))
