"""What each operator of TFLite becomes: shapes are inferred, parameters are derived.

A builder takes an operator whose sources are known and adds its layers to the network.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.fixedpoint.requantize import INT32_MAX
from snapcli.graph.network import ACTIVATION_BYTES_MAX, Network, Node, Value, repeats
from snapcli.graph.shapes import Shape, axis_of, expanded, reshaped, sliced, squeezed

_ACTIVATIONS = {0: "none", 1: "relu", 2: "relu_n1_to_1", 3: "relu6"}
_PADDING = {0: "same", 1: "valid"}
SIZE_MAX = 65535  # of an axis, a stride or a dilation of an image
_POSITIONS_MAX = 2**23 - 1  # whose sum int32 holds


def _activation(node: Node, target: Value) -> tuple[int, int]:
    """(min, max) of a fused activation."""
    if node.options.activation not in _ACTIVATIONS:
        raise node.refuse(
            "has a fused activation that is not supported",
            f"Use {', '.join(_ACTIVATIONS.values())}.",
        )
    kind = _ACTIVATIONS[node.options.activation]
    return fx.activation_range(kind, target.tensor.scale, target.tensor.zero_point)


def image(node: Node, source: Value) -> tuple[int, int, int]:
    """(height, width, channels)"""
    if len(source.shape) != 4 or source.shape[0] != 1:
        raise node.refuse(
            f"works on shape {source.shape}, not on one image", "Convert the model for batch 1."
        )
    if max(source.shape[1:3]) > SIZE_MAX:
        raise node.refuse(f"works on shape {source.shape}", f"At most {SIZE_MAX} fit an axis.")
    _, height, width, channels = source.shape
    return height, width, channels


def _window(
    node: Node, size: tuple[int, int, int], kernel: tuple[int, int], dilation: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """((height, width) of the output, (pad_top, pad_left))"""
    options = node.options
    stride = (options.stride_h, options.stride_w)
    if not 1 <= min(*kernel, *stride, *dilation) <= max(*kernel, *stride, *dilation) <= SIZE_MAX:
        raise ValueError(f"layer '{node.label}' has an impossible window")
    if options.padding not in _PADDING:
        raise ValueError(f"layer '{node.label}' has an unknown padding")
    axes = [
        fx.conv_window(*axis, _PADDING[options.padding])
        for axis in zip(size[:2], kernel, stride, dilation, strict=True)
    ]
    (out_h, pad_top), (out_w, pad_left) = axes
    check_reach(node, size, kernel, dilation)
    return (out_h, out_w), (pad_top, pad_left)


def check_reach(
    node: Node, size: tuple[int, int, int], kernel: tuple[int, int], dilation: tuple[int, int]
) -> None:
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if math.prod(a + b for a, b in zip(size[:2], reach, strict=True)) > ACTIVATION_BYTES_MAX:
        raise node.refuse("has a window that is too large", "Use a smaller kernel or dilation.")


def _output(
    network: Network, node: Node, source: Value, target: Value, scales: NDArray[np.float32]
) -> fx.OutputS8:
    channels = target.shape[-1]
    if channels > SIZE_MAX:
        raise node.refuse(f"has {channels} channels", f"At most {SIZE_MAX} are possible.")
    bias = np.zeros(channels, np.int32)
    if len(node.inputs) > 2 and node.inputs[2] >= 0:
        bias = network.constant(node.inputs[2], "int32", node)
    if bias.shape != (channels,):
        raise ValueError(f"the bias of layer '{node.label}' has the wrong shape")
    low, high = _activation(node, target)
    to = target.tensor
    mantissa, shift = fx.output_multipliers(source.tensor.scale, scales, to.scale, channels)
    return fx.OutputS8(bias, mantissa, shift, to.zero_point, low, high)


def _check_accumulator(
    node: Node, weights: NDArray[np.int8], axes: tuple[int, ...], zero_point: int, out: fx.OutputS8
) -> None:
    """weights are summed over the axes; whatever the input, int32 has to hold the sum."""
    total = np.abs(weights.astype(np.int16)).sum(axis=axes, dtype=np.int64)
    largest = total * max(127 - zero_point, 128 + zero_point) + np.abs(out.bias.astype(np.int64))
    if np.any(largest > INT32_MAX):
        raise node.refuse("can exceed the range of int32", "Quantize the model again.")


def _convolution(network: Network, node: Node) -> None:
    source, options = network.source(node), node.options
    size, dilation = image(node, source), (options.dilation_h, options.dilation_w)
    filters = filters_of(network, node, size[2])
    out, padding = _window(node, size, filters.kernel, dilation)
    convolve(network, node, source, filters, dilation, out, padding)


@dataclass(frozen=True, eq=False)
class Filters:
    """weights as the file has them, CONV_2D [out_c, h, w, in_c], DEPTHWISE_CONV_2D
    [1, h, w, out_c]; kernel: (h, w)."""

    weights: NDArray[np.int8]
    scales: NDArray[np.float32]
    kernel: tuple[int, int]
    out_c: int


def filters_of(network: Network, node: Node, in_c: int) -> Filters:
    depthwise = node.kind == "DEPTHWISE_CONV_2D"
    weights, scales = network.weights(node, 3 if depthwise else 0)
    if weights.ndim != 4:
        raise ValueError(f"the weights of layer '{node.label}' have the wrong shape")
    kernel_h, kernel_w = weights.shape[1:3]
    out_c = weights.shape[3 if depthwise else 0]
    fits = weights.shape[0] == 1 and out_c % in_c == 0 if depthwise else weights.shape[3] == in_c
    if not fits:
        raise node.refuse(
            f"has weights {weights.shape} that do not fit {in_c} channels",
            "Convert the model again, without grouped convolutions.",
        )
    return Filters(weights, scales, (kernel_h, kernel_w), out_c)


def convolve(
    network: Network,
    node: Node,
    source: Value,
    filters: Filters,
    dilation: tuple[int, int],
    out: tuple[int, int],
    padding: tuple[int, int],
    shape: Shape | None = None,
) -> None:
    """source is an image, padding (top, left); shape is that of the output where it is not
    (1, *out, channels)."""
    in_h, in_w, in_c = image(node, source)
    target = network.define(node.outputs[0], shape or (1, *out, filters.out_c))
    output = _output(network, node, source, target, filters.scales)
    depthwise, zero_point = node.kind == "DEPTHWISE_CONV_2D", source.tensor.zero_point
    weights = filters.weights[0] if depthwise else filters.weights
    _check_accumulator(node, weights, (0, 1) if depthwise else (1, 2, 3), zero_point, output)
    layer = fx.ConvS8(
        in_h=in_h,
        in_w=in_w,
        in_c=in_c,
        out_h=out[0],
        out_w=out[1],
        out_c=filters.out_c,
        kernel_h=filters.kernel[0],
        kernel_w=filters.kernel[1],
        stride_h=node.options.stride_h,
        stride_w=node.options.stride_w,
        dilation_h=dilation[0],
        dilation_w=dilation[1],
        pad_top=padding[0],
        pad_left=padding[1],
        in_zero_point=zero_point,
        weights=weights,
        out=output,
    )
    network.add(node.kind, layer, [source], target)


def _fully_connected(network: Network, node: Node) -> None:
    source = network.source(node)
    weights, scales = network.weights(node, 0)
    if weights.ndim != 2 or not weights.size or source.size % weights.shape[1]:
        raise ValueError(f"the weights of layer '{node.label}' do not fit {source.shape}")
    if node.options.weights_format:
        raise node.refuse("has shuffled weights", "Convert the model again.")
    outputs, inputs = weights.shape
    rows = source.size // inputs
    shape: Shape = (rows, outputs)
    if node.options.keep_num_dims:
        if source.shape[-1] != inputs:
            raise ValueError(f"the weights of layer '{node.label}' do not fit {source.shape}")
        shape = (*source.shape[:-1], outputs)
    target = network.define(node.outputs[0], shape)
    out = _output(network, node, source, target, scales)
    zero_point = source.tensor.zero_point
    _check_accumulator(node, weights, (1,), zero_point, out)
    layer = fx.FullyConnectedS8(inputs, outputs, zero_point, weights, out, rows)
    network.add(node.kind, layer, [source], target)


def _pool(network: Network, node: Node) -> None:
    source, options = network.source(node), node.options
    size = image(node, source)
    kernel = (options.filter_h, options.filter_w)
    (out_h, out_w), padding = _window(node, size, kernel, (1, 1))
    target = network.define(node.outputs[0], (1, out_h, out_w, size[2]))
    _same_quantization(node, source, target)
    if math.prod(kernel) > _POSITIONS_MAX:
        raise node.refuse("has a window that is too large", "Use a smaller one.")
    window = (*kernel, options.stride_h, options.stride_w, *padding)
    layer = fx.PoolS8(*size, out_h, out_w, *window, *_activation(node, target))
    network.add(node.kind, layer, [source], target)


def _same_quantization(node: Node, source: Value, target: Value) -> None:
    if source.quantization != target.quantization:
        raise node.refuse(
            f"goes from {source.quantization} to {target.quantization}",
            "Both must be alike. Quantize the model again.",
        )


def _reduction(network: Network, node: Node) -> None:
    """Over neighbouring axes (those of length 1 do not count): [rows, positions, channels]."""
    source = network.source(node)
    shape, rank = source.shape, len(source.shape)
    axes = {axis_of(int(a), rank) for a in network.integer(node, 1).ravel()}
    if node.options.keep_dims:
        out_shape = [1 if k in axes else d for k, d in enumerate(shape)]
    else:
        out_shape = [d for k, d in enumerate(shape) if k not in axes]
    long = [k for k in sorted(axes) if shape[k] > 1] or sorted(axes)[:1]
    first, last = (long[0], long[-1]) if long else (0, -1)
    if any(shape[k] > 1 for k in range(first, last) if k not in axes):
        raise node.refuse(
            f"is over the axes {sorted(axes)} of shape {shape}", "Only neighbours are supported."
        )
    rows, positions, channels = (
        math.prod(shape[part])
        for part in (slice(first), slice(first, last + 1), slice(last + 1, None))
    )
    if positions > _POSITIONS_MAX:
        raise node.refuse(f"is over {positions} elements", f"At most {_POSITIONS_MAX} fit int32.")
    target = network.define(node.outputs[0], out_shape)
    if node.kind == "REDUCE_MAX":
        _same_quantization(node, source, target)
        pool = fx.reduce_max_pool(rows, positions, channels, over_h=False)
        network.add(node.kind, pool, [source], target)
        return
    layer = fx.MeanS8(
        positions=positions,
        channels=channels,
        in_zero_point=source.tensor.zero_point,
        out_zero_point=target.tensor.zero_point,
        multiplier=fx.mean_multiplier(source.tensor.scale, target.tensor.scale, positions),
        rows=rows,
    )
    network.add(node.kind, layer, [source], target)


def _elementwise(network: Network, node: Node) -> None:
    shapes = [network.shape(node, k) for k in range(2)]
    shape = tuple(int(d) for d in np.broadcast_shapes(*shapes))
    operands = [network.operand(node, k, shape) for k in range(2)]
    if all(operand.name in network.constants for operand in operands):
        raise node.refuse("works on constants", "Convert the model again.")
    target = network.define(node.outputs[0], shape)
    for k, operand in enumerate(operands):
        if not repeats(operand.shape, shape):
            wide = network.derive(f"{node.label}_wide", operand, shape)
            network.add("BROADCAST_TO", fx.broadcast_copy(operand.shape, shape), [operand], wide)
            operands[k] = wide
    first, second = (operand.tensor for operand in operands)
    scales = (first.scale, second.scale, target.tensor.scale)
    lengths = (target.size, operands[0].size, operands[1].size)
    zero_points = (first.zero_point, second.zero_point)
    ends = (target.tensor.zero_point, *_activation(node, target))
    layer: fx.AddS8 | fx.MulS8
    if node.kind == "MUL":
        layer = fx.MulS8(*lengths, *zero_points, fx.mul_multiplier(*scales), *ends)
    else:
        layer = fx.AddS8(*lengths, *zero_points, *fx.add_multipliers(*scales), *ends)
    network.add(node.kind, layer, operands, target)


def _softmax(network: Network, node: Node) -> None:
    source, beta = network.source(node), node.options.beta
    target = network.define(node.outputs[0], source.shape)
    if target.quantization != fx.Quantization(1 / 256, -128):
        raise node.refuse("has an output that is not in steps of 1/256", "Convert the model again.")
    if not 0 < beta < np.inf:
        raise ValueError(f"layer '{node.label}' has an impossible beta")
    classes = source.tensor.channels
    layer = fx.softmax_of(source.size // classes, classes, source.tensor.scale, beta)
    network.add(node.kind, layer, [source], target)


_TABLES: dict[str, Callable[[fx.Quantization, fx.Quantization], NDArray[np.int8]]] = {
    "LOGISTIC": fx.logistic_table,
    "TANH": fx.tanh_table,
    "HARD_SWISH": fx.hard_swish_table,
    "QUANTIZE": fx.requantize_table,
    "RELU": lambda source, to: fx.relu_table("relu", source, to),
    "RELU6": lambda source, to: fx.relu_table("relu6", source, to),
}


def _table(network: Network, node: Node) -> None:
    source = network.source(node)
    target = network.define(node.outputs[0], source.shape)
    ends = (source.quantization, target.quantization)
    if node.kind == "LEAKY_RELU":
        if not math.isfinite(node.options.alpha):
            raise ValueError(f"layer '{node.label}' has an impossible alpha")
        table = fx.leaky_relu_table(node.options.alpha, *ends)
    else:
        table = _TABLES[node.kind](*ends)
    network.add(node.kind, fx.LutS8(source.size, table), [source], target)


def _quantize(network: Network, node: Node) -> None:
    if network.source_type(node) != "float32":
        _table(network, node)
        return
    source = network.source(node, dtype="float32")
    target = network.define(node.outputs[0], source.shape)
    layer = fx.QuantizeF32S8(source.size, target.tensor.scale, target.tensor.zero_point)
    network.add("QUANTIZE_F32", layer, [source], target)


def _dequantize(network: Network, node: Node) -> None:
    source = network.source(node)
    if node.outputs[0] not in network.subgraph.outputs:
        raise node.refuse("is not an output of the model", "Quantize the whole model to int8.")
    target = network.define(node.outputs[0], source.shape, "float32")
    layer = fx.DequantizeS8F32(source.size, source.tensor.scale, source.tensor.zero_point)
    network.add(node.kind, layer, [source], target)


def view_shape(network: Network, node: Node, shape: Shape) -> Shape:
    """Under which RESHAPE, SQUEEZE or EXPAND_DIMS shows a tensor of this shape."""
    if node.kind == "EXPAND_DIMS":
        return expanded(shape, int(network.integer(node, 1).item()))
    if node.kind == "SQUEEZE":
        return squeezed(shape, [int(a) for a in node.options.squeeze_dims])
    if len(node.inputs) > 1 and node.inputs[1] >= 0:
        wanted = network.integer(node, 1).ravel()
    else:
        new_shape = node.options.new_shape
        wanted = new_shape if len(new_shape) else network.raw(node.outputs[0]).shape
    return reshaped(shape, [int(d) for d in wanted])


def _view(network: Network, node: Node) -> None:
    source = network.source(node)
    network.view(node.outputs[0], source, view_shape(network, node, source.shape))


def _pad(network: Network, node: Node) -> None:
    source = network.source(node)
    amounts = network.integer(node, 1)
    fits = amounts.shape == (len(source.shape), 2)
    if not fits or amounts.min() < 0 or amounts.max() > ACTIVATION_BYTES_MAX:
        raise ValueError(f"the padding of layer '{node.label}' is impossible")
    padding = [(int(before), int(after)) for before, after in amounts]
    shape = [d + before + after for d, (before, after) in zip(source.shape, padding, strict=True)]
    target = network.define(node.outputs[0], shape)
    _same_quantization(node, source, target)
    layer = fx.pad_of(source.shape, padding, target.tensor.zero_point)
    network.add(node.kind, layer, [source], target)


def _concatenation(network: Network, node: Node) -> None:
    shapes = [network.shape(node, k) for k in range(len(node.inputs))]
    axis = axis_of(node.options.axis, len(shapes[0]))
    if len({(*s[:axis], 0, *s[axis + 1 :]) for s in shapes}) != 1:
        raise ValueError(f"the inputs of layer '{node.label}' do not fit together")
    sources = [network.operand(node, k) for k in range(len(shapes))]
    if all(source.name in network.constants for source in sources):
        raise node.refuse("works on constants", "Convert the model again.")
    shape = [*shapes[0]]
    shape[axis] = sum(s[axis] for s in shapes)
    target = network.define(node.outputs[0], shape)
    for source in sources:
        _same_quantization(node, source, target)
    if node.options.activation:
        raise node.refuse("has a fused activation that is not supported", "Use none.")
    network.add(node.kind, fx.concatenation_of(shapes, axis), sources, target)


def _transpose(network: Network, node: Node) -> None:
    source = network.source(node)
    order = [axis_of(int(a), len(source.shape)) for a in network.integer(node, 1).ravel()]
    if sorted(order) != list(range(len(source.shape))):
        raise ValueError(f"the order of layer '{node.label}' is not a permutation")
    target = network.define(node.outputs[0], [source.shape[a] for a in order])
    network.add(node.kind, fx.transpose_copy(source.shape, order), [source], target)


def _strided_slice(network: Network, node: Node) -> None:
    source, options = network.source(node), node.options
    if options.ellipsis_mask or options.new_axis_mask or options.offset:
        raise node.refuse("has an ellipsis, a new axis or an offset", "Slice without them.")
    edges = [[int(v) for v in network.integer(node, k).ravel()] for k in (1, 2, 3)]
    taken, shape = sliced(source.shape, edges, options)
    target = network.define(node.outputs[0], shape)
    bounds = ([r.start for r in taken], [r.stop for r in taken], [r.step for r in taken])
    network.add(node.kind, fx.slice_copy(source.shape, *bounds), [source], target)


def _split(network: Network, node: Node) -> None:
    """One copy per part."""
    source, parts = network.source(node, 1), len(node.outputs)
    axis = axis_of(int(network.integer(node, 0).item()), len(source.shape))
    if node.options.num_splits != parts or source.shape[axis] % parts:
        raise ValueError(f"layer '{node.label}' does not split {source.shape} evenly")
    size = source.shape[axis] // parts
    for part, index in enumerate(node.outputs):
        begin, end = [0] * len(source.shape), [*source.shape]
        begin[axis], end[axis] = part * size, (part + 1) * size
        target = network.define(index, [b - a for a, b in zip(begin, end, strict=True)])
        layer = fx.slice_copy(source.shape, begin, end, [1] * len(end))
        network.add(node.kind, layer, [source], target)


def _resize_nearest(network: Network, node: Node) -> None:
    source, options = network.source(node), node.options
    in_h, in_w, channels = image(node, source)
    size = network.integer(node, 1)
    if size.shape != (2,) or not 1 <= size.min() <= size.max() <= SIZE_MAX:
        raise ValueError(f"layer '{node.label}' has an impossible size")
    out_h, out_w = (int(d) for d in size)
    target = network.define(node.outputs[0], (1, out_h, out_w, channels))
    network.spend(out_h + out_w)
    corners = (options.align_corners, options.half_pixel_centers)
    row, column = fx.nearest_index(in_h, out_h, *corners), fx.nearest_index(in_w, out_w, *corners)
    layer = fx.ResizeNearestS8(in_w, channels, out_h, out_w, row, column)
    network.add(node.kind, layer, [source], target)


BUILDERS: dict[str, Callable[[Network, Node], None]] = {
    "ADD": _elementwise,
    "AVERAGE_POOL_2D": _pool,
    "CONCATENATION": _concatenation,
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _convolution,
    "DEQUANTIZE": _dequantize,
    "EXPAND_DIMS": _view,
    "FULLY_CONNECTED": _fully_connected,
    "HARD_SWISH": _table,
    "LEAKY_RELU": _table,
    "LOGISTIC": _table,
    "MAX_POOL_2D": _pool,
    "MEAN": _reduction,
    "MUL": _elementwise,
    "PAD": _pad,
    "QUANTIZE": _quantize,
    "REDUCE_MAX": _reduction,
    "RELU": _table,
    "RELU6": _table,
    "RESHAPE": _view,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest,
    "SOFTMAX": _softmax,
    "SPLIT": _split,
    "SQUEEZE": _view,
    "STRIDED_SLICE": _strided_slice,
    "SUB": _elementwise,
    "TANH": _table,
    "TRANSPOSE": _transpose,
}
