"""Layers and heads as calls of Arm's CMSIS-NN, where that gives the same bytes as TFLite.

The variant of a kernel that Arm's wrapper picks at run time is picked here instead, so that
only this one is linked. Layers that CMSIS-NN lacks, or computes otherwise, go to the fallback:

- FULLY_CONNECTED: Arm's rounds twice, TFLite's reference once.
- Operands that repeat: Arm's elementwise kernels take operands of equal length.
- Requantization that would overflow: Arm's left shift does not saturate, TFLite's does, and a
  right shift by 31 is undefined in Arm's C.
- SOFTMAX of many classes, for the same right shift, and with a beta.
- Sizes that Arm's kernels would cut to 16 bits.
"""

import math
from dataclasses import astuple
from typing import Any

import numpy as np

from snapcli.config import CMSIS_NN
from snapcli.emit.lowering import DistanceSite, HeadSite, KernelSet, Lowered, LoweredResidual
from snapcli.emit.text import array, constant_bytes
from snapcli.errors import ConfigError
from snapcli.fixedpoint import (
    AddS8,
    ConvS8,
    MulS8,
    Multiplier,
    PoolS8,
    SoftmaxS8,
    softmax_of,
)
from snapcli.fixedpoint.add import LEFT_SHIFT
from snapcli.fixedpoint.requantize import INT32_MAX, quantize_multiplier
from snapcli.graph.graph import Graph, Layer

# In front of the generated definitions. Cores with MVE run other code of Arm's, which wants
# other amounts of scratch memory.
_PRELUDE = """#include "arm_nnfunctions.h"

#if defined(ARM_MATH_MVEI)
#error "exported for cores without MVE"
#endif
"""

_SHIFT_MIN = -30
_SIZE_MAX = 32767
# The sum of exponentials, at most 2^19 each, then stays below 2^27 and is shifted by 30 at most.
_SOFTMAX_CLASSES_MAX = 255
_DIMS_BYTES = 16
_CONV_PARAMS_BYTES, _DEPTHWISE_PARAMS_BYTES, _POOL_PARAMS_BYTES = 40, 44, 24
_QUANT_BYTES = 8
_HEAD_BYTES = 100


class CmsisNn:
    """Arm's kernels; what they cannot do is the fallback's."""

    name = CMSIS_NN
    prelude = _PRELUDE
    head_header = "arm_snap_residual_s8.h"

    def __init__(self, fallback: KernelSet) -> None:
        self.fallback = fallback

    def fuses(self, layer: Layer) -> bool:
        return False

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        lowered = _lower(layer, graph, pointers, scratch)
        return lowered or self.fallback.lower(layer, graph, pointers, scratch)

    def lower_residual(self, site: HeadSite) -> LoweredResidual:
        return _lower_residual(site)

    def lower_distance(self, site: DistanceSite) -> Lowered:
        return self.fallback.lower_distance(site)


def _lower_residual(site: HeadSite) -> LoweredResidual:
    head, name = site.head.residual, site.name
    scales = (head.before, head.after, head.latent, head.mean, head.xi, head.class_scale)
    if min(scale.shift for scale in scales) < _SHIFT_MIN:
        raise ConfigError(
            f"the head {name} has a multiplier that is too small for CMSIS-NN",
            "Use --kernels reference.",
        )
    arrays: list[str] = []

    def constant(field: str, values: np.ndarray) -> str:
        if not values.size:
            return "0"
        arrays.append(array(f"{name}_{field}", values))
        return f"{name}_{field}"

    members = {
        "in_channels": head.in_channels,
        "channels": head.channels,
        "components": head.components,
        "rank": head.rank,
        **{
            side: f"{{{constant(f'{side}_multiplier', standardize.mantissa)}, "
            f"{constant(f'{side}_offset', standardize.offset)}, {standardize.shift}}}"
            for side, standardize in (("before", head.before), ("after", head.after))
        },
        "projector": constant("projector", head.projector),
        "latent": _braces(*astuple(head.latent)),
        "mean_weights": constant("mean_weights", head.mean_weights),
        "mean": _braces(*astuple(head.mean)),
        "xi_weights": constant("xi_weights", head.xi_weights),
        "xi_bias": constant("xi_bias", head.xi_bias),
        "xi": _braces(*astuple(head.xi)),
        "xi_offset": head.xi_zero_point,
        "inverse_sigma_q9": site.table,
        "class_mean": constant("class_mean", head.class_mean),
        "class_scale": _braces(*astuple(head.class_scale)),
    }
    lines = "".join(f"    .{key} = {value},\n" for key, value in members.items())
    ctype = "arm_snap_residual_params"
    size, inverse_sigma = site.scratch.size_bytes, site.inverse_sigma
    outputs = (site.u.name, inverse_sigma.name if inverse_sigma else "0")
    context = _context(site.scratch.name, size)
    arguments = (context, f"&{name}", *site.sums, site.predicted, *outputs)
    return LoweredResidual(
        ctype,
        "\n".join([*arrays, f"const {ctype} {name} = {{\n{lines}}};\n"]),
        _call("arm_snap_residual_s8", *arguments),
        constant_bytes(head) - head.inverse_sigma_q9.nbytes + _HEAD_BYTES,
    )


def _lower(layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered | None:
    name = f"{pointers[layer.target]}_layer"
    sources = [pointers[source] for source in layer.sources]
    target = pointers[layer.target]
    kernel = layer.kernel
    match kernel:
        case ConvS8():
            depthwise = layer.operator == "DEPTHWISE_CONV_2D"
            return _convolution(kernel, depthwise, name, sources[0], target, scratch)
        case PoolS8():
            average = layer.operator == "AVERAGE_POOL_2D"
            return _pool(kernel, average, name, sources[0], target, scratch)
        case AddS8() if layer.operator == "ADD":
            return _add(kernel, sources, target)
        case MulS8():
            return _mul(kernel, sources, target)
        case SoftmaxS8():
            scale = graph.tensors[layer.sources[0]].scale
            return _softmax(kernel, scale, sources[0], target)
    return None


def _convolution(
    kernel: ConvS8, depthwise: bool, name: str, source: str, target: str, scratch: str
) -> Lowered | None:
    if not _convolution_is_exact(kernel, depthwise):
        return None
    function, size = _depthwise_variant(kernel) if depthwise else _conv_variant(kernel)
    out = kernel.out
    params = {
        "input_offset": str(-kernel.in_zero_point),
        "output_offset": str(out.zero_point),
        "stride": _braces(kernel.stride_w, kernel.stride_h),
        "padding": _braces(kernel.pad_left, kernel.pad_top),
        "dilation": _braces(kernel.dilation_w, kernel.dilation_h),
        "activation": _braces(out.min, out.max),
    }
    if depthwise:
        params["ch_mult"] = str(kernel.out_c // kernel.in_c)
    inputs = 1 if depthwise else kernel.out_c, kernel.kernel_h, kernel.kernel_w
    arrays: dict[str, np.ndarray] = {
        "weights": kernel.weights,
        "bias": out.bias,
        "multiplier": out.mantissa,
        "shift": out.shift.astype(np.int32),
    }
    # Arm's struct is for writable arrays, but its kernels only read them.
    quant = f"{{(int32_t *){name}_multiplier, (int32_t *){name}_shift}}"
    definitions = [
        *(array(f"{name}_{field}", values) for field, values in arrays.items()),
        _members(f"cmsis_nn_{'dw_' if depthwise else ''}conv_params", f"{name}_params", params),
        f"static const cmsis_nn_per_channel_quant_params {name}_quant =\n    {quant};\n"
        + _dims(f"{name}_input", 1, kernel.in_h, kernel.in_w, kernel.in_c)
        + _dims(f"{name}_filter", *inputs, kernel.out_c if depthwise else kernel.in_c)
        + _dims(f"{name}_output", 1, kernel.out_h, kernel.out_w, kernel.out_c),
    ]
    arguments = [_context(scratch, size), f"&{name}_params", f"&{name}_quant"]
    arguments += [f"&{name}_input", source, f"&{name}_filter", f"{name}_weights"]
    # The shape of the bias is that of the output's channels: no kernel reads it.
    arguments += ["0", f"{name}_bias", f"&{name}_output", target]
    return Lowered(
        definitions="\n".join(definitions),
        call=_call(function, *arguments),
        constant_bytes=sum(map(constant_bytes, arrays.values()))
        + (_DEPTHWISE_PARAMS_BYTES if depthwise else _CONV_PARAMS_BYTES)
        + _QUANT_BYTES
        + 3 * _DIMS_BYTES,
        scratch_bytes=size,
        slack=(None,),
    )


def _conv_variant(kernel: ConvS8) -> tuple[str, int]:
    """(function, scratch bytes) as in arm_convolve_wrapper_s8 and its _get_buffer_size.

    The wrapper also knows arm_convolve_1_x_n_s8, which without MVE only calls arm_convolve_s8.
    """
    window = (kernel.kernel_h, kernel.kernel_w, kernel.dilation_h, kernel.dilation_w)
    if window == (1, 1, 1, 1) and kernel.pad_top == kernel.pad_left == 0:
        if kernel.stride_h == kernel.stride_w == 1:
            return "arm_convolve_1x1_s8_fast", 0
        return "arm_convolve_1x1_s8", 0
    columns = kernel.kernel_h * kernel.kernel_w * kernel.in_c
    return "arm_convolve_s8", 2 * 2 * _round_up(columns, 4)  # two columns of int16


def _depthwise_variant(kernel: ConvS8) -> tuple[str, int]:
    """(function, scratch bytes) as in arm_depthwise_conv_wrapper_s8 and its _get_buffer_size."""
    if kernel.in_c != kernel.out_c or (kernel.dilation_h, kernel.dilation_w) != (1, 1):
        return "arm_depthwise_conv_s8", 0
    # The 3x3 kernel reads the middle column unasked: with more padding at the right than its
    # wrapper expects, that one would lie behind the input.
    middle = (kernel.out_w - 1) * kernel.stride_w - kernel.pad_left + 1
    is_3x3 = (kernel.kernel_h, kernel.kernel_w) == (3, 3) and middle < kernel.in_w
    if is_3x3 and max(kernel.pad_top, kernel.pad_left) <= 1:
        return "arm_depthwise_conv_3x3_s8", 0
    return "arm_depthwise_conv_s8_opt", 2 * kernel.in_c * kernel.kernel_h * kernel.kernel_w


def _convolution_is_exact(kernel: ConvS8, depthwise: bool) -> bool:
    reach = max(kernel.in_zero_point + 128, 127 - kernel.in_zero_point)
    weights = np.abs(kernel.weights.astype(np.int64))
    total = weights.sum(axis=(0, 1) if depthwise else (1, 2, 3))
    bound = np.abs(kernel.out.bias.astype(np.int64)) + reach * total
    sizes = [v for v in vars(kernel).values() if isinstance(v, int)]
    sizes.append(kernel.kernel_h * kernel.kernel_w * kernel.in_c)
    shifts = kernel.out.shift.astype(np.int64)
    return (
        max(sizes) <= _SIZE_MAX
        and bool(np.all(shifts >= _SHIFT_MIN))
        and bool(np.all(bound << np.maximum(shifts, 0) <= INT32_MAX))
    )


def _pool(
    kernel: PoolS8, average: bool, name: str, source: str, target: str, scratch: str
) -> Lowered:
    function = "arm_avgpool_s8" if average else "arm_max_pool_s8"
    size = 4 * kernel.channels if average else 0
    params = {
        "stride": _braces(kernel.stride_w, kernel.stride_h),
        "padding": _braces(kernel.pad_left, kernel.pad_top),
        "activation": _braces(kernel.min, kernel.max),
    }
    definitions = [
        _members("cmsis_nn_pool_params", f"{name}_params", params),
        _dims(f"{name}_input", 1, kernel.in_h, kernel.in_w, kernel.channels)
        + _dims(f"{name}_filter", 1, kernel.kernel_h, kernel.kernel_w, 1)
        + _dims(f"{name}_output", 1, kernel.out_h, kernel.out_w, kernel.channels),
    ]
    arguments = [_context(scratch, size), f"&{name}_params", f"&{name}_input", source]
    arguments += [f"&{name}_filter", f"&{name}_output", target]
    return Lowered(
        definitions="\n".join(definitions),
        call=_call(function, *arguments),
        constant_bytes=_POOL_PARAMS_BYTES + 3 * _DIMS_BYTES,
        scratch_bytes=size,
        slack=(None,),
    )


def _add(kernel: AddS8, sources: list[str], target: str) -> Lowered | None:
    multipliers = (kernel.in1, kernel.in2, kernel.out)
    if kernel.in1_length != kernel.in2_length or min(m.shift for m in multipliers) < _SHIFT_MIN:
        return None
    return _elementwise(
        "arm_elementwise_add_s8",
        *sources,
        *(-kernel.in1_zero_point, *astuple(kernel.in1)),
        *(-kernel.in2_zero_point, *astuple(kernel.in2)),
        *(LEFT_SHIFT, target, kernel.out_zero_point, *astuple(kernel.out)),
        *(kernel.min, kernel.max, kernel.length),
        sources=2,
    )


def _mul(kernel: MulS8, sources: list[str], target: str) -> Lowered | None:
    if kernel.in1_length != kernel.in2_length or not _is_exact(255 * 255, kernel.multiplier):
        return None
    return _elementwise(
        "arm_elementwise_mul_s8",
        *sources,
        *(-kernel.in1_zero_point, -kernel.in2_zero_point),
        *(target, kernel.out_zero_point, *astuple(kernel.multiplier)),
        *(kernel.min, kernel.max, kernel.length),
        sources=2,
    )


def _softmax(kernel: SoftmaxS8, scale: float, source: str, target: str) -> Lowered | None:
    # A layer keeps its exponentials, not its beta: only a beta of 1 gives these.
    plain = softmax_of(kernel.positions, kernel.classes, scale, 1.0)
    multiplier = quantize_multiplier(min(float(np.float32(scale)) * 2**26, 2.0**31 - 1))
    if (
        kernel.classes > _SOFTMAX_CLASSES_MAX
        or multiplier.shift > -_SHIFT_MIN
        or not np.array_equal(plain.exp_q31, kernel.exp_q31)
    ):
        return None
    # Differences further down count as zero, and could overflow.
    diff_min = -math.floor(31 * 2.0 ** (26 - multiplier.shift))
    return _elementwise(
        "arm_softmax_s8",
        *(source, kernel.positions, kernel.classes),
        *(*astuple(multiplier), diff_min, target),
        sources=1,
    )


def _elementwise(function: str, *arguments: str | int, sources: int) -> Lowered:
    """A kernel without constants that works in place.

    Read in Arm's code: each step loads what it needs of its elements (one, or four at once)
    and then stores to the same places; softmax looks at a whole row, but stores no element
    before its last look at it. So a target at its source, or before it, never covers bytes
    that are still to be read.
    """
    return Lowered(
        definitions="",
        call=_call(function, *map(str, arguments)),
        constant_bytes=0,
        scratch_bytes=0,
        slack=(0,) * sources,
    )


def _is_exact(bound: int, multiplier: Multiplier) -> bool:
    """Whether Arm's requantization of values up to +-bound is TFLite's."""
    shift = multiplier.shift
    return shift >= _SHIFT_MIN and bound << max(shift, 0) <= INT32_MAX


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _context(scratch: str, size: int) -> str:
    return f"&(const cmsis_nn_context){{{scratch if size else 0}, {size}}}"


def _braces(*values: int) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _dims(name: str, *nhwc: int) -> str:
    return f"static const cmsis_nn_dims {name} = {_braces(*nhwc)};\n"


def _members(kind: str, name: str, members: dict[str, Any]) -> str:
    lines = "".join(f"    .{key} = {value},\n" for key, value in members.items())
    return f"static const {kind} {name} = {{\n{lines}}};\n"


def _call(function: str, *arguments: str) -> str:
    """Arm's status is not looked at: what it could complain of is settled here."""
    return f"{function}({', '.join(arguments)});"
