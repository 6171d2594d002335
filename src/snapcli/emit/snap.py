"""The kernel set `snap`: packed weights for the DSP extension; the rest is the fallback's.

To the fallback go operators without a kernel here (see the cases of _lower), depthwise layers
that are not 3x3, sums whose operands repeat, and layers whose packed form could overflow or round
otherwise (emit/packing.py): with an effective scale of one half or more, for example.
"""

from typing import Any

import numpy as np

from snapcli.config import SNAP
from snapcli.emit.lowering import HeadSite, KernelSet, Lowered
from snapcli.emit.overlap import slack
from snapcli.emit.packing import (
    QUAD,
    SnapnnAdd,
    Words,
    pack_add,
    pack_conv,
    pack_depthwise_3x3,
    pack_fully_connected,
)
from snapcli.emit.text import array
from snapcli.fixedpoint import AddS8, ConvAddS8, ConvS8, FullyConnectedS8
from snapcli.graph.graph import Graph, Layer

_TILE = 4  # positions
_PRELUDE = '#include "snapnn.h"\n'


class Snap:
    """Our packed kernels; what they cannot do is the fallback's."""

    name = SNAP
    fuses = True
    prelude = _PRELUDE
    head_header = "snapuq.h"
    head_type = "struct snapuq_head_s8"

    def __init__(self, fallback: KernelSet) -> None:
        self.fallback = fallback

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        name = f"{pointers[layer.target]}_layer"
        sources = [pointers[source] for source in layer.sources]
        lowered = _lower(layer, name, sources, pointers[layer.target], scratch)
        return lowered or self.fallback.lower(layer, graph, pointers, scratch)

    def lower_residual(self, site: HeadSite) -> Lowered:
        return self.fallback.lower_residual(site)


def _lower(
    layer: Layer, name: str, sources: list[str], target: str, scratch: str
) -> Lowered | None:
    kernel = layer.kernel
    match kernel:
        case ConvS8() if layer.operator == "DEPTHWISE_CONV_2D":
            return _depthwise(kernel, name, sources[0], target, scratch)
        case ConvS8():
            if _is_pointwise(kernel):
                return _pointwise(kernel, name, sources[0], target, scratch)
            return _conv(kernel, name, sources[0], target, scratch)
        case ConvAddS8():
            return _conv_add(kernel, name, sources, target, scratch)
        case AddS8() if layer.operator == "ADD":
            return _add(kernel, name, sources, target)
        case FullyConnectedS8():
            return _fully_connected(layer, kernel, name, sources[0], target)
    return None


def _is_pointwise(kernel: ConvS8) -> bool:
    window = (kernel.kernel_h, kernel.kernel_w, kernel.stride_h, kernel.stride_w)
    return window == (1, 1, 1, 1) and (kernel.out_h, kernel.out_w) == (kernel.in_h, kernel.in_w)


def _pointwise(kernel: ConvS8, name: str, source: str, target: str, scratch: str) -> Lowered | None:
    words = _packed(kernel)
    if words is None:
        return None
    members = {
        "positions": kernel.out_h * kernel.out_w,
        "in_c": kernel.in_c,
        "matrix": _matrix(kernel.out_c, kernel.in_c, name),
        "range": _range(kernel.out),
    }
    return _made(
        "pointwise_s8", name, words, members, (source, scratch, target),
        _columns_bytes(kernel.in_c), (_tiled_slack(kernel),),
    )  # fmt: skip


def _conv(kernel: ConvS8, name: str, source: str, target: str, scratch: str) -> Lowered | None:
    words = _packed(kernel)
    if words is None:
        return None
    return _made(
        "conv_s8", name, words, _conv_members(kernel, name), (source, scratch, target),
        _columns_bytes(_inputs(kernel)), (_tiled_slack(kernel),),
    )  # fmt: skip


def _conv_add(
    kernel: ConvAddS8, name: str, sources: list[str], target: str, scratch: str
) -> Lowered | None:
    words, sums = _packed(kernel.conv), pack_add(kernel.add)
    if words is None or sums is None:
        return None
    members = {
        "conv": _braced(_conv_members(kernel.conv, name)),
        "add": _braced(_add_members(kernel.add, sums)),
        "conv_is_second": int(sums.swapped),
    }
    scratch_bytes = _columns_bytes(_inputs(kernel.conv)) + _TILE * kernel.conv.out_c
    return _made(
        "conv_add_s8", name, words, members, (*sources, scratch, target),
        scratch_bytes, (_tiled_slack(kernel.conv), 0),
    )  # fmt: skip


def _depthwise(kernel: ConvS8, name: str, source: str, target: str, scratch: str) -> Lowered | None:
    window = (kernel.kernel_h, kernel.kernel_w, kernel.dilation_h, kernel.dilation_w)
    if window != (3, 3, 1, 1) or kernel.in_c != kernel.out_c or kernel.out_c < QUAD:
        return None
    words = pack_depthwise_3x3(kernel.weights, kernel.in_zero_point, kernel.out)
    if words is None:
        return None
    members = {
        **{key: getattr(kernel, key) for key in ("in_h", "in_w")},
        "channels": kernel.in_c,
        **{key: getattr(kernel, key) for key in ("out_h", "out_w", "stride_h", "stride_w")},
        **{key: getattr(kernel, key) for key in ("pad_top", "pad_left", "in_zero_point")},
        "words": f"{name}_words",
        "range": _range(kernel.out),
    }
    columns = (kernel.out_w - 1) * kernel.stride_w + 3
    return _made(
        "depthwise_3x3_s8", name, words, members, (source, f"(int8_t *){scratch}", target),
        3 * columns * kernel.in_c, (_row_slack(kernel),),
    )  # fmt: skip


def _add(kernel: AddS8, name: str, sources: list[str], target: str) -> Lowered | None:
    if len({kernel.length, kernel.in1_length, kernel.in2_length}) > 1:
        return None
    sums = pack_add(kernel)
    if sums is None:
        return None
    ordered = sources[::-1] if sums.swapped else sources
    return _made("add_s8", name, None, _add_members(kernel, sums), (*ordered, target), 0, (0, 0))


def _fully_connected(
    layer: Layer, kernel: FullyConnectedS8, name: str, source: str, target: str
) -> Lowered | None:
    words = pack_fully_connected(kernel)
    if words is None:
        return None
    members = {
        "rows": kernel.rows,
        "inputs": kernel.inputs,
        "matrix": _matrix(kernel.outputs, kernel.inputs, name),
        "zero_point": kernel.out.zero_point,
        "range": _range(kernel.out),
    }
    return _made("fully_connected_s8", name, words, members, (source, target), 0, slack(layer))


def _packed(kernel: ConvS8) -> Words | None:
    return pack_conv(kernel.weights.reshape(kernel.out_c, -1), kernel.in_zero_point, kernel.out)


def _inputs(kernel: ConvS8) -> int:
    return kernel.kernel_h * kernel.kernel_w * kernel.in_c


def _columns_bytes(inputs: int) -> int:
    """SNAPNN_COLUMNS_BYTES"""
    return 36 * -(-inputs // 4)


def _tiled_slack(kernel: ConvS8) -> int:
    """A tile has read all that it needs before it writes; the last positions go one by one."""
    count = kernel.out_h * kernel.out_w
    whole = count // _TILE * _TILE
    ends = np.array([*range(_TILE, whole + 1, _TILE), *range(whole + 1, count + 1)])
    top = np.maximum(np.arange(kernel.out_h) * kernel.stride_h - kernel.pad_top, 0)
    left = np.maximum(np.arange(kernel.out_w) * kernel.stride_w - kernel.pad_left, 0)
    first = ((top[:, np.newaxis] * kernel.in_w + left) * kernel.in_c).ravel()
    return _largest_lead(ends, kernel.out_c, first, kernel)


def _row_slack(kernel: ConvS8) -> int:
    """All rows of a window lie in scratch before a row of the output is written."""
    rows = np.arange(1, kernel.out_h + 1)
    # The first row of the input that a row of the output is the first to need.
    fresh = np.maximum((rows - 2) * kernel.stride_h - kernel.pad_top + 3, 0)
    fresh = np.maximum(fresh, (rows - 1) * kernel.stride_h - kernel.pad_top)
    first = np.minimum(fresh, kernel.in_h) * kernel.in_w * kernel.in_c
    return _largest_lead(rows * kernel.out_w, kernel.out_c, np.repeat(first, kernel.out_w), kernel)


def _largest_lead(ends: Any, out_c: int, first: Any, kernel: ConvS8) -> int:
    """The most by which what is written runs ahead of what is still to be read.

    ends: positions of the output that are complete after each step; first: by position of the
    output, the first byte of the input that it needs. After the last step nothing is read.
    """
    needed = np.minimum.accumulate(first[::-1])[::-1]
    inner = ends[:-1]
    nowhere = -kernel.in_h * kernel.in_w * kernel.in_c
    return int(np.max(inner * out_c - needed[inner], initial=nowhere))


def _conv_members(kernel: ConvS8, name: str) -> dict[str, Any]:
    sizes = ("in_h", "in_w", "in_c", "out_h", "out_w", "kernel_h", "kernel_w", "stride_h")
    more = ("stride_w", "dilation_h", "dilation_w", "pad_top", "pad_left", "in_zero_point")
    return {
        **{key: getattr(kernel, key) for key in (*sizes, *more)},
        "matrix": _matrix(kernel.out_c, _inputs(kernel), name),
        "range": _range(kernel.out),
    }


def _add_members(kernel: AddS8, sums: SnapnnAdd) -> dict[str, Any]:
    return {
        "length": kernel.length,
        "offset": sums.offset,
        "factor": sums.factor,
        "in2_offset": sums.in2_offset,
        "in2": _braced(vars(sums.in2)),
        "out": _braced(vars(sums.out)),
        "range": _range(kernel),
    }


def _matrix(channels: int, inputs: int, name: str) -> str:
    return f"{{{channels}, {-(-inputs // 4)}, {name}_words}}"


def _range(out: Any) -> str:
    return f"{{{out.min}, {out.max}}}"


def _braced(members: dict[str, Any]) -> str:
    return "{" + ", ".join(f".{key} = {_literal(value)}" for key, value in members.items()) + "}"


def _literal(value: Any) -> str:
    return "INT32_MIN" if value == -(2**31) else str(value)


def _made(
    kernel: str,
    name: str,
    words: Words | None,
    members: dict[str, Any],
    arguments: tuple[str, ...],
    scratch_bytes: int,
    allowed: tuple[int | None, ...],
) -> Lowered:
    lines = "".join(f"    .{key} = {_literal(value)},\n" for key, value in members.items())
    parameters = f"static const struct snapnn_{kernel} {name} = {{\n{lines}}};\n"
    parts = [parameters] if words is None else [array(f"{name}_words", words), parameters]
    return Lowered(
        definitions="\n".join(parts),
        call=f"snapnn_{kernel}(&{name}, {', '.join(arguments)});",
        constant_bytes=0 if words is None else words.nbytes,
        scratch_bytes=scratch_bytes,
        slack=allowed,
    )
