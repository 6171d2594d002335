"""Random int8 models that use every operator: random_model(seed) is the file of one.

The same seed gives the same bytes, for all who compare something with TFLite.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import tflite_op as op

SIZE_MAX = 3000  # elements of an activation
ACTIVATIONS = ("none", "none", "relu", "relu6", "relu_n1_to_1")
PADDINGS = ("same", "valid")


@dataclass(frozen=True)
class Known:
    """A tensor that the model has computed."""

    index: int
    tensor: op.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_image(self) -> bool:
        return len(self.shape) == 4 and self.shape[0] == 1


class Sketch:
    """A model that grows from the tensors it has by operators that fit them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = op.Model()
        self.known: list[Known] = []
        self.used: set[int] = set()

    def choice(self, items: Sequence) -> Any:
        return items[self.rng.integers(len(items))]

    def pair(self, low: int, high: int) -> tuple[int, int]:
        first, second = (int(v) for v in self.rng.integers(low, high + 1, 2))
        return first, second

    def flip(self, chance: float = 0.5) -> bool:
        return bool(self.rng.random() < chance)

    def zero_point(self) -> int:
        return int(self.choice([-128, 127, 0, *self.rng.integers(-128, 128, 5)]))

    def like(self, shape: Sequence[int], source: op.Tensor, ratio: float = 1.0) -> op.Tensor:
        """Of a scale near that of the source times a ratio."""
        scale = float(np.float32(source.scale[0] * ratio * 2 ** self.rng.uniform(-1, 1)))
        return op.Tensor(shape, [scale], self.zero_point())

    def same(self, shape: Sequence[int], source: op.Tensor) -> op.Tensor:
        return op.Tensor(shape, source.scale, source.zero_point)

    def add(self, operator: op.OneOp, *sources: Known) -> list[Known]:
        found = self.model.apply(operator, *(source.index for source in sources))
        self.used |= {source.index for source in sources}
        new = [Known(index, operator.output) for index in found]
        self.known += new
        return new

    def window(self, source: Known) -> tuple[str, tuple[int, int], tuple[int, int]]:
        """(padding, size of the kernel, stride)"""
        height, width = (int(self.rng.integers(1, min(d, 4) + 1)) for d in source.shape[1:3])
        size = (height, width)
        return self.choice(PADDINGS), size, self.pair(1, 3)


def out_size(
    source: Known,
    padding: str,
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int] = (1, 1),
) -> tuple[int, int]:
    """What TFLite computes, written again."""
    sizes = []
    for length, taps, step, apart in zip(source.shape[1:3], size, stride, dilation, strict=True):
        reach = (taps - 1) * apart + 1
        room = length if padding == "same" else length - reach + 1
        sizes.append(-(-room // step))
    return sizes[0], sizes[1]


def weighted(
    sketch: Sketch, source: Known, shape: Sequence[int], axis: int, out_shape: Sequence[int]
) -> tuple[list[op.Tensor], op.Tensor]:
    """([source, weights, bias], output) with scales that use the output's range."""
    rng, outputs = sketch.rng, shape[axis]
    scales = rng.uniform(0.002, 0.006, outputs if sketch.flip(0.7) else 1).astype(np.float32)
    weights = rng.integers(-127, 128, shape).astype(np.int8)
    bias = rng.integers(-4000, 4000, outputs).astype(np.int32)
    spread = 74 * math.sqrt(weights.size / outputs)
    in_scale = source.tensor.scale[0]
    inputs = [
        source.tensor,
        op.Tensor(shape, scales, 0, axis, weights),
        op.Tensor([outputs], np.float32(in_scale) * scales, data=bias),
    ]
    return inputs, sketch.like(out_shape, source.tensor, float(scales.mean()) * spread * 1.5)


def convolution(sketch: Sketch, source: Known) -> None:
    if not source.is_image:
        return
    padding, size, stride = sketch.window(source)
    dilation = (1, 1)
    if sketch.flip(0.3):
        stride, dilation = (1, 1), sketch.pair(1, 2)
    height, width = out_size(source, padding, size, stride, dilation)
    in_c = source.shape[3]
    if min(height, width) < 1:
        return
    options = (padding, stride, dilation, sketch.choice(ACTIVATIONS))
    if sketch.flip():
        out_c = int(sketch.rng.integers(1, 9))
        parts = weighted(sketch, source, (out_c, *size, in_c), 0, (1, height, width, out_c))
        sketch.add(op.conv(*parts, *options), source)
    else:
        times = int(sketch.choice([1, 1, 2, 3]))
        out_c = times * in_c
        parts = weighted(sketch, source, (1, *size, out_c), 3, (1, height, width, out_c))
        sketch.add(op.depthwise_conv(*parts, *options, multiplier=times), source)


def padded_convolution(sketch: Sketch, source: Known) -> None:
    """PAD of height and width in front of a convolution."""
    if not source.is_image:
        return
    amounts = [(0, 0), sketch.pair(0, 2), sketch.pair(0, 2), (0, 0)]
    (padded,) = pad(sketch, source, amounts)
    convolution(sketch, padded)


def convolution_apart(sketch: Sketch, source: Known) -> None:
    """A dilated convolution as TFLite writes it for an open batch; nobody reads its parts."""
    if not source.is_image:
        return
    _, size, _ = sketch.window(source)
    block, in_c = sketch.pair(1, 3), source.shape[3]
    padding, crops, phases, made = [], [], [], []
    for length, taps, apart in zip(source.shape[1:3], size, block, strict=True):
        reach = (taps - 1) * apart + 1
        before = int(sketch.rng.integers(reach))
        after = max(reach - before - length, 0) + int(sketch.rng.integers(3))
        after += -(before + length + after) % apart
        phases.append((before + length + after) // apart)
        made.append(phases[-1] - taps + 1)
        padding.append((before, after))
        # Windows that lie in the padding alone are cropped.
        crops.append((0, max(made[-1] * apart - before - length, 0)))
    batch, out_c = math.prod(block), int(sketch.rng.integers(1, 9))
    split = op.space_to_batch(
        source.tensor, sketch.same((batch, *phases, in_c), source.tensor), block, padding
    )
    parts = weighted(
        sketch, Known(-1, split.output), (out_c, *size, in_c), 0, (batch, *made, out_c)
    )
    inner = op.conv(*parts, "valid", (1, 1), (1, 1), sketch.choice(ACTIVATIONS))
    sizes = [n * b - sum(c) for n, b, c in zip(made, block, crops, strict=True)]
    if batch * math.prod(phases) * in_c > SIZE_MAX or math.prod(sizes) * out_c > SIZE_MAX:
        return
    output = sketch.same((1, *sizes, out_c), inner.output)
    (index,) = sketch.model.apply(split, source.index)
    (index,) = sketch.model.apply(inner, index)
    sketch.used.add(source.index)
    sketch.add(op.batch_to_space(inner.output, output, block, crops), Known(index, inner.output))


def fully_connected(sketch: Sketch, source: Known) -> None:
    if source.size > 600 or not source.shape:
        return
    outputs = int(sketch.rng.integers(1, 9))
    keep = sketch.flip()
    inputs = source.shape[-1] if keep or sketch.flip(0.3) else source.size
    shape = (*source.shape[:-1], outputs) if keep else (source.size // inputs, outputs)
    parts = weighted(sketch, source, (outputs, inputs), 0, shape)
    activation = sketch.choice(ACTIVATIONS)
    sketch.add(op.fully_connected(*parts, activation, keep_dims=keep), source)


def elementwise(sketch: Sketch, source: Known) -> None:
    build = sketch.choice([op.add, op.sub, op.mul])
    activation = sketch.choice(ACTIVATIONS)
    others = [k for k in sketch.known if fits(source.shape, k.shape)]
    if sketch.flip(0.7):
        other = sketch.choice(others)
        tensors, sources = [source.tensor, other.tensor], [source, other]
    else:
        shape = [d if sketch.flip() else 1 for d in source.shape]
        values = sketch.rng.integers(-128, 128, shape).astype(np.int8)
        scale = source.tensor.scale
        constant = op.Tensor(shape, scale, sketch.zero_point(), data=values)
        tensors, sources = [source.tensor, constant], [source]
        if sketch.flip(0.3):
            tensors.reverse()
    shape = np.broadcast_shapes(*(t.shape for t in tensors))
    scales = [float(t.scale[0]) for t in tensors]
    ratio = 60 * scales[1] if build is op.mul else max(scales) / scales[0]
    output = sketch.like(shape, op.Tensor(shape, scales[:1]), ratio)
    sketch.add(build(tensors, output, activation), *sources)


def fits(first: Sequence[int], second: Sequence[int]) -> bool:
    try:
        shape = np.broadcast_shapes(tuple(first), tuple(second))
    except ValueError:
        return False
    return math.prod(shape) <= SIZE_MAX and len(shape) <= 4


def pool(sketch: Sketch, source: Known) -> None:
    if not source.is_image:
        return
    padding, size, stride = sketch.window(source)
    shape = (1, *out_size(source, padding, size, stride), source.shape[3])
    build = op.average_pool if sketch.flip() else op.max_pool
    activation = sketch.choice(ACTIVATIONS)
    output = sketch.same(shape, source.tensor)
    sketch.add(build(source.tensor, output, size, stride, padding, activation), source)


def reduction(sketch: Sketch, source: Known) -> None:
    rank = len(source.shape)
    if rank < 2:
        return
    first = int(sketch.rng.integers(1, rank))
    axes = list(range(first, int(sketch.rng.integers(first, rank)) + 1))
    if len(axes) == rank - 1:
        axes.pop()
    if not axes:
        return
    keep = sketch.flip()
    shape = np.zeros(source.shape).sum(axis=tuple(axes), keepdims=keep).shape
    sketch.rng.shuffle(axes)
    named = [a - rank if sketch.flip(0.3) else a for a in axes]
    if sketch.flip():
        output = sketch.like(shape, source.tensor)
        sketch.add(op.mean(source.tensor, output, named, keep), source)
    else:
        output = sketch.same(shape, source.tensor)
        sketch.add(op.reduce_max(source.tensor, output, named, keep), source)


def pad(
    sketch: Sketch, source: Known, amounts: Sequence[tuple[int, int]] | None = None
) -> list[Known]:
    if amounts is None:
        amounts = [(0, 0), *(sketch.pair(0, 2) for _ in source.shape[1:])]
    shape = [d + sum(extra) for d, extra in zip(source.shape, amounts, strict=True)]
    if math.prod(shape) > SIZE_MAX:
        return [source]
    output = sketch.same(shape, source.tensor)
    return sketch.add(op.pad(source.tensor, output, amounts), source)


def reshape(sketch: Sketch, source: Known) -> None:
    """To any factors, one of them perhaps -1, or to what shape arithmetic says."""
    sizes, left = [1], source.size
    for _ in range(int(sketch.rng.integers(0, 3))):
        size = int(sketch.choice([d for d in range(1, left + 1) if left % d == 0]))
        sizes.append(size)
        left //= size
    sizes.append(left)
    if sketch.flip(0.3):
        sizes = sizes[1:]
    if sketch.flip(0.3):
        arithmetic(sketch, source)
        return
    wanted = [*sizes]
    if sketch.flip():
        wanted[int(sketch.rng.integers(len(wanted)))] = -1
    output = sketch.same(sizes, source.tensor)
    sketch.add(op.reshape(source.tensor, output, wanted), source)


def arithmetic(sketch: Sketch, source: Known) -> None:
    """RESHAPE to [batch, rest] or [batch, 1, rest], the batch taken from SHAPE."""
    model, batch = sketch.model, source.shape[0]
    rest = source.size // batch
    wanted, sizes = ([rest], [batch, rest]) if sketch.flip() else ([-1, rest], [batch, 1, rest])
    (shape,) = model.apply(op.shape(source.tensor), source.index)
    (first,) = model.apply(op.first_of(len(source.shape)), shape)
    (packed,) = model.apply(op.pack(wanted), first)
    output = sketch.same(sizes, source.tensor)
    integers = Known(packed, op.Tensor([len(sizes)], dtype=np.int32))
    inputs = [source.tensor, integers.tensor]
    operator = op.operator("RESHAPE", inputs, output, "Reshape", version=1)
    sketch.add(operator, source, integers)


def squeeze(sketch: Sketch, source: Known) -> None:
    rank = len(source.shape)
    ones = [k for k, d in enumerate(source.shape) if d == 1 and k]
    if ones and sketch.flip():
        axis = int(sketch.choice(ones))
        shape = (*source.shape[:axis], *source.shape[axis + 1 :])
        output = sketch.same(shape, source.tensor)
        sketch.add(op.squeeze(source.tensor, output, [axis]), source)
    elif rank < 4:
        axis = int(sketch.rng.integers(1, rank + 1))
        shape = (*source.shape[:axis], 1, *source.shape[axis:])
        named = axis - rank - 1 if sketch.flip() else axis
        output = sketch.same(shape, source.tensor)
        sketch.add(op.expand_dims(source.tensor, output, named), source)


def softmax(sketch: Sketch, source: Known) -> None:
    if source.shape[-1] > 300 or len(source.shape) > 4:
        return
    output = op.Tensor(source.shape, [1 / 256], -128)
    sketch.add(op.softmax(source.tensor, output, float(sketch.choice([1.0, 0.5]))), source)


def table(sketch: Sketch, source: Known) -> None:
    codes = ("LOGISTIC", "TANH", "HARD_SWISH", "RELU", "RELU6", "LEAKY_RELU", "QUANTIZE")
    code = sketch.choice(codes)
    fixed = {"LOGISTIC": ([1 / 256], -128), "TANH": ([1 / 128], 0)}
    output = sketch.like(source.shape, source.tensor)
    if code in fixed:
        output = op.Tensor(source.shape, *fixed[code])
    if code == "LEAKY_RELU":
        sketch.add(op.leaky_relu(source.tensor, output, 0.3), source)
    else:
        sketch.add(op.elementwise(code, source.tensor, output), source)


def concatenation(sketch: Sketch, source: Known) -> None:
    """With itself, with constants, with another tensor that is brought to its quantization."""
    rank = len(source.shape)
    axis = int(sketch.rng.integers(min(1, rank - 1), rank))

    def beside(shape: Sequence[int]) -> bool:
        return len(shape) == rank and all(
            a == b for k, (a, b) in enumerate(zip(shape, source.shape, strict=True)) if k != axis
        )

    others = [k for k in sketch.known if beside(k.shape) and k.size <= SIZE_MAX // 3]
    if source.size > SIZE_MAX // 3 or not others:
        return
    tensors, sources = [source.tensor], [source]
    for _ in range(int(sketch.rng.integers(1, 3))):
        other = sketch.choice(others)
        if other.tensor.scale != source.tensor.scale or (
            other.tensor.zero_point != source.tensor.zero_point
        ):
            output = sketch.same(other.shape, source.tensor)
            (other,) = sketch.add(op.elementwise("QUANTIZE", other.tensor, output), other)
        tensors.append(other.tensor)
        sources.append(other)
    if sketch.flip(0.3):
        values = sketch.rng.integers(-128, 128, source.shape).astype(np.int8)
        tensors.append(
            op.Tensor(source.shape, source.tensor.scale, source.tensor.zero_point, data=values)
        )
    shape = [*source.shape]
    shape[axis] = sum(t.shape[axis] for t in tensors)
    output = sketch.same(shape, source.tensor)
    named = axis - rank if sketch.flip(0.3) else axis
    sketch.add(op.concatenation(tensors, output, named), *sources)


def resize(sketch: Sketch, source: Known) -> None:
    if not source.is_image:
        return
    height, width = sketch.pair(1, 9)
    if height * width * source.shape[3] > SIZE_MAX:
        return
    output = sketch.same((1, height, width, source.shape[3]), source.tensor)
    align, half = sketch.flip(0.3), sketch.flip(0.3)
    operator = op.resize_nearest_neighbor(source.tensor, output, align, half and not align)
    sketch.add(operator, source)


def strided_slice(sketch: Sketch, source: Known) -> None:
    """Axes after the first, forwards or backwards, perhaps with one dropped."""
    rank = len(source.shape)
    if rank > 4:
        return
    begin, end, step, shrink = [0] * rank, [*source.shape], [1] * rank, 0
    for k in range(1, rank):
        size = source.shape[k]
        begin[k], end[k] = sorted(int(v) for v in sketch.rng.integers(0, size + 1, 2))
        if begin[k] == end[k]:
            begin[k], end[k] = 0, size
        step[k] = int(sketch.choice([1, 1, 2, 3]))
        if sketch.flip(0.2):
            begin[k], end[k], step[k] = end[k] - 1, begin[k] - 1 - size, -step[k]
    begin_mask = end_mask = 0
    if sketch.flip(0.3) and rank > 1:
        k = int(sketch.rng.integers(1, rank))
        begin_mask, end_mask = 1 << k, (1 << k) * sketch.flip()
    taken = [
        range(size)[
            slice(
                None if begin_mask & 1 << k else begin[k],
                None if end_mask & 1 << k else end[k],
                step[k],
            )
        ]
        for k, size in enumerate(source.shape)
    ]
    shape = [len(r) for r in taken]
    if sketch.flip(0.3) and rank > 2:
        axis = int(sketch.rng.integers(1, rank))
        begin[axis], end[axis], step[axis] = source.shape[axis] - 1, source.shape[axis], 1
        begin_mask &= ~(1 << axis)
        shrink, shape[axis] = 1 << axis, 0
    if not all(d for k, d in enumerate(shape) if not shrink & 1 << k):
        return
    output = sketch.same([d for d in shape if d], source.tensor)
    masks = {"beginMask": begin_mask, "endMask": end_mask, "shrinkAxisMask": shrink}
    sketch.add(op.strided_slice(source.tensor, output, begin, end, step, **masks), source)


def split(sketch: Sketch, source: Known) -> None:
    axis = len(source.shape) - 1
    size = source.shape[axis]
    parts = int(sketch.choice([d for d in (1, 2, 3, 4) if size % d == 0]))
    output = sketch.same((*source.shape[:-1], size // parts), source.tensor)
    named = -1 if sketch.flip() else axis
    sketch.add(op.split(source.tensor, output, named, parts, 0), source)


def transpose(sketch: Sketch, source: Known) -> None:
    if len(source.shape) > 4:
        return
    order = [0, *(int(a) for a in sketch.rng.permutation(range(1, len(source.shape))))]
    output = sketch.same([source.shape[a] for a in order], source.tensor)
    sketch.add(op.transpose(source.tensor, output, order), source)


GROWTH: list[Callable[[Sketch, Known], object]] = [
    convolution,
    convolution,
    padded_convolution,
    convolution_apart,
    fully_connected,
    elementwise,
    elementwise,
    pool,
    reduction,
    pad,
    reshape,
    squeeze,
    softmax,
    table,
    table,
    concatenation,
    resize,
    strided_slice,
    split,
    transpose,
]


def random_model(seed: int, operators: int = 8) -> bytes:
    """One to three inputs, int8 or float32, about so many operators, one to three outputs."""
    sketch = Sketch(seed)
    for k in range(int(sketch.choice([1, 1, 2, 3]))):
        start(sketch, f"in_{k}")
    for _ in range(operators):
        # The newest tensors are the likeliest: models are deep rather than broad.
        recent = sketch.known[-3:] if sketch.flip(0.8) else sketch.known
        sketch.choice(GROWTH)(sketch, sketch.choice(recent))
    return sketch.model.flatbuffer(ends(sketch))


def start(sketch: Sketch, name: str) -> None:
    shape: Sequence[int] = (1, *sketch.pair(3, 8), int(sketch.rng.integers(1, 6)))
    if sketch.flip(0.2):
        shape = (1, int(sketch.rng.integers(1, 30)))
    tensor = op.Tensor(
        shape, [float(np.float32(sketch.rng.uniform(0.01, 0.1)))], sketch.zero_point()
    )
    if sketch.flip(0.2):
        source = op.Tensor(shape, dtype=np.float32)
        index = sketch.model.input(source, name)
        operator = op.elementwise("QUANTIZE", source, tensor)
        sketch.known.append(Known(sketch.model.apply(operator, index)[0], tensor))
    else:
        sketch.known.append(Known(sketch.model.input(tensor, name), tensor))


def ends(sketch: Sketch) -> dict[str, int]:
    """Some of the tensors that no operator reads; each has been computed."""
    computed = [k for k in sketch.known if k.index not in sketch.model.graph.inputs]
    if not computed:
        (source, *_) = sketch.known
        computed = sketch.add(op.elementwise("RELU", source.tensor, source.tensor), source)
    leaves = [k for k in computed if k.index not in sketch.used] or computed[-1:]
    outputs = {}
    for n, leaf in enumerate(leaves[-3:]):
        index = leaf.index
        if sketch.flip(0.2):
            real = op.Tensor(leaf.shape, dtype=np.float32)
            (index,) = sketch.model.apply(op.elementwise("DEQUANTIZE", leaf.tensor, real), index)
        elif only_shown(sketch, leaf):
            same = sketch.same(leaf.shape, leaf.tensor)
            (index,) = sketch.model.apply(op.elementwise("RELU", leaf.tensor, same), index)
        outputs[f"out_{n}"] = index
    return outputs


def only_shown(sketch: Sketch, leaf: Known) -> bool:
    """Whether the tensor shows an input under another shape: no output of its own."""
    graph = sketch.model.graph
    shown = {*graph.inputs}
    for operator in graph.operators:
        code = sketch.model.model.operatorCodes[operator.opcodeIndex].builtinCode
        if code in op.VIEWS and operator.inputs[0] in shown:
            shown |= {*operator.outputs}
    return leaf.index in shown
