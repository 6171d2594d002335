"""Changes to a graph that keep its outputs."""

from dataclasses import replace

from snapcli import fixedpoint as fx
from snapcli.graph.graph import Graph, Layer


def simplify(graph: Graph) -> Graph:
    return _without_dead_layers(_with_folded_padding(graph))


def _with_folded_padding(graph: Graph) -> Graph:
    """A PAD of height and width in front of a convolution becomes the convolution's own."""
    users: dict[str, list[str]] = {}
    for layer in graph.layers:
        for source in layer.sources:
            users.setdefault(source, []).append(layer.name)
    shown = {*graph.outputs.values(), *graph.views.values()}
    pads = {layer.target: layer for layer in graph.layers if layer.operator == "PAD"}
    layers = []
    for layer in graph.layers:
        pad = pads.get(layer.sources[0])
        if pad and pad.target not in shown and len(users[pad.target]) == 1:
            layer = _padded(graph, pad, layer) or layer
        layers.append(layer)
    return replace(graph, layers=tuple(layers))


def _padded(graph: Graph, pad: Layer, layer: Layer) -> Layer | None:
    """The convolution of what PAD reads, None where it cannot do without PAD."""
    kernel = layer.kernel
    before, after = (graph.tensors[name].shape for name in (pad.sources[0], pad.target))
    images = len(before) == len(after) == 3 and before[2] == after[2]
    if not isinstance(kernel, fx.ConvS8) or not isinstance(pad.kernel, fx.PadS8) or not images:
        return None
    top, left = divmod(pad.kernel.copy.out_start // after[2], after[1])
    axes = (
        (top, before[0], after[0], kernel.kernel_h, kernel.stride_h, kernel.dilation_h),
        (left, before[1], after[1], kernel.kernel_w, kernel.stride_w, kernel.dilation_w),
    )
    outputs = (kernel.out_h, kernel.out_w)
    if kernel.pad_top or kernel.pad_left:
        return None
    for (start, inside, size, taps, stride, dilation), out in zip(axes, outputs, strict=True):
        reach, last = (taps - 1) * dilation + 1, (out - 1) * stride
        # The kernel pads nothing itself, and none of its windows lies in the padding alone.
        if last + reach > size or start >= reach or last >= start + inside:
            return None
    folded = replace(kernel, in_h=before[0], in_w=before[1], pad_top=top, pad_left=left)
    return replace(layer, kernel=folded, sources=pad.sources)


def _without_dead_layers(graph: Graph) -> Graph:
    """Parts of a SPLIT that nobody reads, a PAD that was folded."""
    needed = {graph.stored(name) for name in graph.outputs.values()}
    layers: list[Layer] = []
    for layer in reversed(graph.layers):
        if layer.target in needed:
            layers.append(layer)
            needed.update(graph.stored(source) for source in layer.sources)
    layers.reverse()
    named = {name for layer in layers for name in layer.sources} | {*graph.outputs.values()}
    kept = {*needed, *named, *graph.inputs}
    return replace(
        graph,
        tensors={name: tensor for name, tensor in graph.tensors.items() if name in kept},
        layers=tuple(layers),
        constants={name: values for name, values in graph.constants.items() if name in kept},
        views={name: source for name, source in graph.views.items() if name in named},
    )
