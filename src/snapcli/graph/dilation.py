"""Puts a dilated convolution that TFLite took apart together again.

Where the batch is open, TFLite writes SPACE_TO_BATCH_ND, which makes a batch of the phases of an
image, a convolution of these, and BATCH_TO_SPACE_ND; in one dimension with a view on either side
of the convolution. The padding is the zero point in both: they compute the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.graph.builders import SIZE_MAX, check_reach, convolve, filters_of, image, view_shape
from snapcli.graph.network import ACTIVATION_BYTES_MAX, Network, Node
from snapcli.graph.schema import Record
from snapcli.graph.shapes import Shape, expanded, squeezed

SPLIT, JOIN = "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"
HINT = "Convert the model for a batch of 1: dilated convolutions then stay what they are."
_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
_VIEWS = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")
_PATTERNS = (
    ((SPLIT,), _CONVOLUTIONS, (JOIN,)),
    ((SPLIT,), _VIEWS, _CONVOLUTIONS, _VIEWS, (JOIN,)),
)
_VALID = 1  # padding


def find_dilated(subgraph: Record, kinds: Sequence[str]) -> dict[int, tuple[int, ...]]:
    """{position of a BATCH_TO_SPACE_ND: positions of the operators of its convolution, itself the
    last}. What they hand on nobody else reads or writes."""
    if JOIN not in kinds:
        return {}
    operators = subgraph.operators
    readers: dict[int, list[int]] = {}
    writers: dict[int, list[int]] = {}
    for position, operator in enumerate(operators):
        for index in operator.inputs:
            readers.setdefault(int(index), []).append(position)
        for index in operator.outputs:
            writers.setdefault(int(index), []).append(position)
    ends = {int(index) for index in (*subgraph.inputs, *subgraph.outputs)}
    groups = {}
    for last in (k for k, kind in enumerate(kinds) if kind == JOIN):
        chain = [last]
        while kinds[chain[0]] != SPLIT and len(chain) < len(_PATTERNS[-1]):
            index = int(operators[chain[0]].inputs[0])
            if index in ends or len(readers[index]) != 1 or len(writers.get(index, ())) != 1:
                break
            chain.insert(0, writers[index][0])
        fits = any(
            len(chain) == len(pattern)
            and all(kinds[k] in possible for k, possible in zip(chain, pattern, strict=True))
            for pattern in _PATTERNS
        )
        if fits and chain == sorted(chain):
            groups[last] = tuple(chain)
    return groups


@dataclass(frozen=True)
class _Axis:
    """Padded by (before, after), split into `block` phases; joined, cropped by (start, end)."""

    block: int
    before: int
    after: int
    start: int
    end: int

    def phase(self, size: int) -> int:
        padded = self.before + size + self.after
        if padded % self.block:
            raise ValueError(f"{padded} positions are not {self.block} phases")
        return padded // self.block

    def window(self, join: Node, size: int, kernel: int) -> tuple[int, int, int]:
        """(output size of a phase, output size, padding before)"""
        reach = (kernel - 1) * self.block + 1
        made = self.phase(size) - kernel + 1
        out = made * self.block - self.start - self.end
        padding = self.before - self.start
        if made < 1 or not 1 <= out <= SIZE_MAX:
            raise join.refuse(f"leaves {max(out, 0)} positions of an axis", HINT)
        if not 0 <= padding < reach or out > padding + size:
            raise join.refuse("keeps less than the image, or padding alone", HINT)
        return made, out, padding


_WHOLE = _Axis(1, 0, 0, 0, 0)


def dilated_convolution(network: Network, parts: Sequence[Node]) -> None:
    """Adds the layer that the operators of find_dilated() make up."""
    split, *views, join = parts
    inner = views.pop(len(views) // 2)
    node = replace(inner, inputs=(split.inputs[0], *inner.inputs[1:]), outputs=join.outputs)
    source, options = network.source(node), node.options
    if len(source.shape) != (3 if views else 4) or source.shape[0] != 1:
        raise split.refuse(f"works on shape {source.shape}", HINT)
    axes = _axes(network, split, join, len(source.shape) - 2)
    batch = math.prod(axis.block for axis in axes)
    sizes = [axis.phase(d) for axis, d in zip(axes, source.shape[1:-1], strict=True)]
    phases = (batch, *sizes, source.shape[-1])
    seen = _handed_on(network, (split, *views[:1]), phases, source.quantization)
    place = next((k for k in (1, 2) if views and expanded(phases, k) == seen), 0)
    if place:
        source = network.derive_view(f"{node.label}_image", source, expanded(source.shape, place))
        axes.insert(place - 1, _WHOLE)
    elif views:
        raise views[0].refuse(f"makes {seen} of {phases}", HINT)

    size = image(node, source)
    filters = filters_of(network, node, size[2])
    steps = (options.stride_h, options.stride_w, options.dilation_h, options.dilation_w)
    if steps != (1, 1, 1, 1) or options.padding != _VALID:
        raise node.refuse(f"between {SPLIT} and {JOIN} strides, dilates or pads itself", HINT)
    dilation = (axes[0].block, axes[1].block)
    check_reach(node, size, filters.kernel, dilation)
    (rows, out_h, top), (columns, out_w, left) = (
        axis.window(join, *ends) for axis, *ends in zip(axes, size[:2], filters.kernel, strict=True)
    )
    made: Shape = (batch, rows, columns, filters.out_c)
    shape: Shape = (1, out_h, out_w, filters.out_c)
    joined = squeezed(made, [place]) if place else made
    shape = squeezed(shape, [place]) if place else shape
    convolve(network, node, source, filters, dilation, (out_h, out_w), (top, left), shape)
    target = network.values[join.outputs[0]]
    seen = _handed_on(network, (inner, *views[1:]), made, target.quantization)
    if seen != joined:
        raise views[1].refuse(f"makes {seen} of {made}", HINT)


def _axes(network: Network, split: Node, join: Node, count: int) -> list[_Axis]:
    block, paddings = network.integer(split, 1), network.integer(split, 2)
    crops = network.integer(join, 2)
    amounts = np.stack([paddings, crops])
    if block.shape != (count,) or amounts.shape != (2, count, 2):
        raise ValueError(f"the block of layer '{join.label}' has the wrong shape")
    if not 1 <= block.min() <= block.max() <= SIZE_MAX:
        raise ValueError(f"the block of layer '{join.label}' is impossible")
    if not 0 <= amounts.min() <= amounts.max() <= ACTIVATION_BYTES_MAX:
        raise ValueError(f"the padding of layer '{join.label}' is impossible")
    if not np.array_equal(block, network.integer(join, 1)):
        raise join.refuse(f"has another block than {SPLIT}", HINT)
    columns = (block, *paddings.T, *crops.T)
    return [_Axis(*(int(v) for v in values)) for values in zip(*columns, strict=True)]


def _handed_on(
    network: Network, parts: Sequence[Node], shape: Shape, like: fx.Quantization
) -> Shape:
    """Of what the first part computes in this shape: the shape after the views that follow."""
    for part in parts:
        if part.kind in _VIEWS:
            shape = view_shape(network, part, shape)
        if fx.Quantization(*network.checked(part.outputs[0], shape)) != like:
            raise part.refuse("has a scale or zero point of its own", "Quantize the model again.")
    return shape
