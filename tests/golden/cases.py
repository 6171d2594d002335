"""The golden cases, declared: kernel, seed, shapes, ranges. Vectors are made at test time."""

import math
from dataclasses import astuple, dataclass, replace
from typing import Protocol

import numpy as np

from snapcli.fixedpoint import (
    ALARM_MEAN,
    ALARM_NONE,
    ALARM_SUM,
    ALARM_WINDOW,
    NO_ALARM,
    AddS8,
    Alarm,
    AlarmState,
    AshS8,
    Budget,
    ClipS8,
    ConvAddS8,
    ConvS8,
    CopyS8,
    DequantizeS8F32,
    Energy,
    Evidence,
    FullyConnectedS8,
    HeadS8,
    Hidden,
    LutS8,
    MahalanobisS8,
    MapClassGated,
    MapGated,
    MapIsotonic,
    MapLogistic,
    MeanS8,
    MulS8,
    Multiplier,
    OutputS8,
    PoolS8,
    Quantization,
    QuantizeF32S8,
    ResizeNearestS8,
    Standardize,
    activation_range,
    add_multipliers,
    add_s8,
    alarm_baseline,
    alarm_clear,
    alarm_resume,
    alarm_start,
    alarm_step,
    argmax_s8,
    ash_s8,
    average_pool_s8,
    average_q16,
    broadcast_copy,
    budget_of,
    budget_run,
    clip_s8,
    concatenation_of,
    concatenation_s8,
    confidence_of,
    conv_add_s8,
    conv_s8,
    conv_window,
    copy_s8,
    depthwise_conv_s8,
    dequantize_s8_f32,
    doubt_q16,
    entropy_q16,
    error_logit_q16,
    evidence_offer,
    exp_q16,
    free_energy_q16,
    fully_connected_s8,
    hard_swish_table,
    hidden_q16,
    inverse_sigma_q9_table,
    leaky_relu_table,
    ln_of_q16,
    ln_q16,
    log2_q15_table,
    logistic_table,
    lut_s8,
    mahalanobis_s8,
    map_class_gated_q16,
    map_gated_q16,
    map_isotonic_q16,
    map_logistic_q16,
    max_pool_s8,
    mean_multiplier,
    mean_s8,
    mul_multiplier,
    mul_s8,
    nearest_index,
    output_multipliers,
    pad_of,
    pad_s8,
    pool_moments_s8,
    pool_sum_s8,
    probability_q16,
    probability_step_q24,
    quantize_f32_s8,
    quantize_multipliers_shared,
    quantize_weights_q16,
    reduce_max_pool,
    relu_table,
    requantize,
    requantize_table,
    residual_s8,
    resize_nearest_s8,
    score_q16,
    sigmoid_q16,
    sigmoid_tail_q16_table,
    slice_copy,
    softmax_of,
    softmax_s8,
    sub_s8,
    tanh_table,
    telemetry_add,
    telemetry_next,
    telemetry_record,
    telemetry_start,
    transpose_copy,
)
from snapcli.fixedpoint import (
    Residual as Residuals,
)
from snapcli.heads.gaussian import EnergyGaussian
from snapcli.heads.huber import EnergyHuber
from snapcli.heads.lowrank import EnergyLowrank
from snapcli.heads.mixture import EnergyMixture
from snapcli.heads.student_t import EnergyStudentT

from . import tflite_op
from .c_runner import Vectors

BATCH = 3
INT32 = np.iinfo(np.int32)
Rng = np.random.Generator
Shape = tuple[int, ...]


class Case(Protocol):
    """What every declared case can do."""

    @property
    def kernel(self) -> str: ...

    @property
    def name(self) -> str: ...

    def vectors(self) -> Vectors: ...


class OracleCase(Case, Protocol):
    """A case that TFLite can run as well."""

    def numpy(self) -> np.ndarray: ...

    def tflite(self) -> np.ndarray: ...


@dataclass(frozen=True)
class Window:
    """conv_s8 or depthwise_conv_s8.

    spread is the standard deviation of the output in steps: large saturates, small rounds
    to nothing. With ties "near" or "exact", the first input leaves the accumulator at a bias
    that falls next to or on a tie, where the ways to round differ. shifts, if given, replace
    the true ones, for limits no real scale reaches.
    """

    kernel: str
    name: str
    seed: int
    in_hwc: tuple[int, int, int] = (7, 6, 5)
    out_c: int = 6
    per_channel: bool = True
    size: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: str = "same"
    activation: str = "none"
    in_zero_point: int = 3
    out_zero_point: int = -5
    spread: float = 40.0
    ties: str = ""
    shifts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        depthwise = self.kernel == "depthwise_conv_s8"
        depth = self.size[0] * self.size[1] * (1 if depthwise else self.in_hwc[2])
        x = _int8(rng, (BATCH, *self.in_hwc))
        shape = (*self.size, self.out_c) if depthwise else (self.out_c, *self.size, self.in_hwc[2])
        scales = self.out_c if self.per_channel else 1
        parts = _Quantized.draw(rng, depth, self.out_c, scales, self.spread, self.ties)
        if self.ties:
            x[0] = self.in_zero_point
        (out_h, pad_top), (out_w, pad_left) = (
            conv_window(*axis, self.padding)
            for axis in zip(self.in_hwc[:2], self.size, self.stride, self.dilation, strict=True)
        )
        mantissa, shift = parts.multipliers(self.out_c)
        if self.shifts:
            shift = np.resize(np.array(self.shifts, np.int8), self.out_c)
        limits = activation_range(self.activation, parts.out_scale, self.out_zero_point)
        layer = ConvS8(
            *self.in_hwc,
            *(out_h, out_w, self.out_c),
            *self.size,
            *self.stride,
            *self.dilation,
            *(pad_top, pad_left),
            in_zero_point=self.in_zero_point,
            weights=rng.integers(-127, 128, shape).astype(np.int8),
            out=OutputS8(parts.bias, mantissa, shift, self.out_zero_point, *limits),
        )
        for key, value in (("x", x), ("parts", parts), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        function = conv_s8 if self.kernel == "conv_s8" else depthwise_conv_s8
        return function(self.layer, self.x)

    def tflite(self) -> np.ndarray:
        layer, parts = self.layer, self.parts
        depthwise = self.kernel == "depthwise_conv_s8"
        weights = layer.weights[np.newaxis] if depthwise else layer.weights
        scales = parts.weight_scales
        tensors = [
            tflite_op.Tensor(self.x.shape, [parts.in_scale], self.in_zero_point),
            tflite_op.Tensor(weights.shape, scales, 0, 3 if depthwise else 0, weights),
            tflite_op.Tensor([self.out_c], parts.in_scale * scales, data=parts.bias),
        ]
        shape = [BATCH, layer.out_h, layer.out_w, layer.out_c]
        output = tflite_op.Tensor(shape, [parts.out_scale], self.out_zero_point)
        options = (self.padding, self.stride, self.dilation, self.activation)
        if depthwise:
            op = tflite_op.depthwise_conv(
                tensors, output, *options, multiplier=self.out_c // self.in_hwc[2]
            )
        else:
            op = tflite_op.conv(tensors, output, *options)
        return op.run(self.x)

    def vectors(self) -> Vectors:
        scalars = [v for v in vars(self.layer).values() if isinstance(v, int)]
        out = self.layer.out
        return Vectors(
            self.kernel,
            [*scalars, out.zero_point, out.min, out.max],
            [self.layer.weights, out.bias, out.mantissa, out.shift, self.x],
            self.numpy(),
        )


@dataclass(frozen=True)
class Dense:
    """fully_connected_s8, with one weight scale per output or one for all."""

    name: str
    seed: int
    inputs: int = 37
    outputs: int = 10
    rows: int = 1
    per_channel: bool = False
    activation: str = "none"
    in_zero_point: int = -7
    out_zero_point: int = 11
    spread: float = 40.0
    ties: str = ""
    shifts: tuple[int, ...] = ()
    kernel: str = "fully_connected_s8"

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        x = _int8(rng, (64, self.rows, self.inputs))
        scales = self.outputs if self.per_channel else 1
        parts = _Quantized.draw(rng, self.inputs, self.outputs, scales, self.spread, self.ties)
        if self.ties:
            x[0] = self.in_zero_point
        mantissa, shift = parts.multipliers(self.outputs)
        if self.shifts:
            shift = np.resize(np.array(self.shifts, np.int8), self.outputs)
        limits = activation_range(self.activation, parts.out_scale, self.out_zero_point)
        layer = FullyConnectedS8(
            self.inputs,
            self.outputs,
            self.in_zero_point,
            rng.integers(-127, 128, (self.outputs, self.inputs)).astype(np.int8),
            OutputS8(parts.bias, mantissa, shift, self.out_zero_point, *limits),
            self.rows,
        )
        for key, value in (("x", x), ("parts", parts), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        return fully_connected_s8(self.layer, self.x)

    def tflite(self) -> np.ndarray:
        parts, weights = self.parts, self.layer.weights
        tensors = [
            tflite_op.Tensor(self.x.shape, [parts.in_scale], self.in_zero_point),
            tflite_op.Tensor(weights.shape, parts.weight_scales, data=weights),
            tflite_op.Tensor([self.outputs], parts.in_scale * parts.weight_scales, data=parts.bias),
        ]
        output = tflite_op.Tensor(
            [*self.x.shape[:-1], self.outputs], [parts.out_scale], self.out_zero_point
        )
        op = tflite_op.fully_connected(tensors, output, self.activation, keep_dims=True)
        return op.run(self.x)

    def vectors(self) -> Vectors:
        layer, out = self.layer, self.layer.out
        scalars = [layer.rows, layer.inputs, layer.outputs, layer.in_zero_point]
        return Vectors(
            self.kernel,
            [*scalars, out.zero_point, out.min, out.max],
            [layer.weights, out.bias, out.mantissa, out.shift, self.x],
            self.numpy(),
        )


@dataclass(frozen=True)
class Mean:
    """mean_s8 over neighbouring axes of a sample, where height is axis 1.

    ratio = in_scale / out_scale; multiplier, if given, replaces the true one.
    """

    name: str
    seed: int
    hwc: Shape = (4, 5, 33)
    axes: tuple[int, ...] = (1, 2)
    keep_dims: bool = False
    ratio: float = 1.7
    in_zero_point: int = -20
    out_zero_point: int = 9
    multiplier: Multiplier | None = None
    kernel: str = "mean_s8"

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        out_scale = np.float32(rng.uniform(0.01, 0.1))
        in_scale = np.float32(out_scale * self.ratio)
        first, end = min(self.axes) - 1, max(self.axes)
        rows, positions, channels = map(
            math.prod, (self.hwc[:first], self.hwc[first:end], self.hwc[end:])
        )
        multiplier = self.multiplier or mean_multiplier(in_scale, out_scale, positions)
        ends = (self.in_zero_point, self.out_zero_point)
        layer = MeanS8(positions, channels, *ends, multiplier, rows)
        centre = rng.integers(-128, 128, (BATCH, *(1,) * (len(self.hwc) - 1), self.hwc[-1]))
        x = np.clip(centre + rng.integers(-60, 60, (BATCH, *self.hwc)), -128, 127).astype(np.int8)
        scales = (in_scale, out_scale)
        for key, value in (("x", x), ("scales", scales), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        shape = self.x.sum(axis=self.axes, keepdims=self.keep_dims).shape
        return mean_s8(self.layer, self.x).reshape(shape)

    def tflite(self) -> np.ndarray:
        x = tflite_op.Tensor(self.x.shape, [self.scales[0]], self.in_zero_point)
        output = tflite_op.Tensor(self.numpy().shape, [self.scales[1]], self.out_zero_point)
        return tflite_op.mean(x, output, self.axes, self.keep_dims).run(self.x)

    def vectors(self) -> Vectors:
        return Vectors(self.kernel, _flat(self.layer), [self.x], self.numpy())


@dataclass(frozen=True)
class Pool:
    """average_pool_s8 or max_pool_s8."""

    kernel: str
    name: str
    seed: int
    in_hwc: tuple[int, int, int] = (7, 6, 5)
    size: tuple[int, int] = (3, 2)
    stride: tuple[int, int] = (1, 1)
    padding: str = "valid"
    activation: str = "none"
    scale: float = 0.05
    zero_point: int = -4

    def __post_init__(self) -> None:
        (out_h, pad_top), (out_w, pad_left) = (
            conv_window(size, kernel, stride, 1, self.padding)
            for size, kernel, stride in zip(self.in_hwc[:2], self.size, self.stride, strict=True)
        )
        limits = activation_range(self.activation, self.scale, self.zero_point)
        window = (*self.size, *self.stride, pad_top, pad_left)
        layer = PoolS8(*self.in_hwc, out_h, out_w, *window, *limits)
        x = _int8(np.random.default_rng(self.seed), (BATCH, *self.in_hwc))
        for key, value in (("x", x), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        function = average_pool_s8 if self.kernel == "average_pool_s8" else max_pool_s8
        return function(self.layer, self.x)

    def tflite(self) -> np.ndarray:
        build = tflite_op.average_pool if self.kernel == "average_pool_s8" else tflite_op.max_pool
        x = tflite_op.Tensor(self.x.shape, [self.scale], self.zero_point)
        shape = [BATCH, self.layer.out_h, self.layer.out_w, self.layer.channels]
        output = tflite_op.Tensor(shape, [self.scale], self.zero_point)
        op = build(x, output, self.size, self.stride, self.padding, self.activation)
        return op.run(self.x)

    def vectors(self) -> Vectors:
        return Vectors(self.kernel, astuple(self.layer), [self.x], self.numpy())


@dataclass(frozen=True)
class ReduceMax:
    """REDUCE_MAX over height (axis 1), width (axis 2) or both, as max_pool_s8."""

    name: str
    seed: int
    axes: tuple[int, ...] = (1, 2)
    in_hwc: tuple[int, int, int] = (5, 4, 7)
    zero_point: int = 6
    kernel: str = "max_pool_s8"

    def __post_init__(self) -> None:
        layer = reduce_max_pool(*self.in_hwc, over_h=1 in self.axes, over_w=2 in self.axes)
        x = _int8(np.random.default_rng(self.seed), (BATCH, *self.in_hwc))
        for key, value in (("x", x // 2), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        return max_pool_s8(self.layer, self.x)

    def tflite(self) -> np.ndarray:
        x = tflite_op.Tensor(self.x.shape, [0.1], self.zero_point)
        shape = [BATCH, self.layer.out_h, self.layer.out_w, self.layer.channels]
        output = tflite_op.Tensor(shape, [0.1], self.zero_point)
        return tflite_op.reduce_max(x, output, self.axes).run(self.x)

    def vectors(self) -> Vectors:
        return Vectors(self.kernel, astuple(self.layer), [self.x], self.numpy())


@dataclass(frozen=True)
class Binary:
    """add_s8, sub_s8 or mul_s8. Without shapes: every pair of int8 numbers.

    scales and zero_points: of the operands and the output.
    """

    kernel: str
    name: str
    seed: int
    shape1: tuple[int, ...] | None = None
    shape2: tuple[int, ...] = ()
    scales: tuple[float, float, float] = (0.05, 0.02, 0.07)
    zero_points: tuple[int, int, int] = (3, -10, 5)
    activation: str = "none"

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        if self.shape1 is None:
            every = np.arange(-128, 128, dtype=np.int8)
            x1, x2 = (np.ascontiguousarray(x)[np.newaxis] for x in np.meshgrid(every, every))
        else:
            x1, x2 = _int8(rng, self.shape1), _int8(rng, self.shape2)
        lengths = (max(x1.size, x2.size), x1.size, x2.size)
        ends = (
            self.zero_points[2],
            *activation_range(self.activation, self.scales[2], self.zero_points[2]),
        )
        layer: AddS8 | MulS8
        if self.kernel == "mul_s8":
            layer = MulS8(*lengths, *self.zero_points[:2], mul_multiplier(*self.scales), *ends)
        else:
            layer = AddS8(*lengths, *self.zero_points[:2], *add_multipliers(*self.scales), *ends)
        for key, value in (("x1", x1), ("x2", x2), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        function = {"add_s8": add_s8, "sub_s8": sub_s8, "mul_s8": mul_s8}[self.kernel]
        result = function(self.layer, self.x1.reshape(1, -1), self.x2.reshape(1, -1))
        return result.reshape(np.broadcast_shapes(self.x1.shape, self.x2.shape))

    def tflite(self) -> np.ndarray:
        build = getattr(tflite_op, self.kernel.removesuffix("_s8"))
        shapes = (self.x1.shape, self.x2.shape, self.numpy().shape)
        constants = (None, self.x2, None)
        x1, x2, output = (
            tflite_op.Tensor(shape, [scale], zero_point, data=data)
            for shape, scale, zero_point, data in zip(
                shapes, self.scales, self.zero_points, constants, strict=True
            )
        )
        return build([x1, x2], output, self.activation).run(self.x1)

    def vectors(self) -> Vectors:
        return Vectors(self.kernel, _flat(self.layer), [self.x1, self.x2], self.numpy())


@dataclass(frozen=True)
class Softmax:
    """softmax_s8 of random, tied and extreme logits."""

    name: str
    seed: int
    classes: int = 10
    positions: int = 1
    scale: float = 0.1
    beta: float = 1.0
    zero_point: int = 7
    kernel: str = "softmax_s8"

    def __post_init__(self) -> None:
        x = _int8(np.random.default_rng(self.seed), (40, self.positions, self.classes))
        x[10:30] //= 4
        x[30:] = 127 - (127 - x[30:]) // 16
        x[0], x[1] = -128, 127
        x[2], x[2, :, -1] = -128, 127
        layer = softmax_of(self.positions, self.classes, self.scale, self.beta)
        for key, value in (("x", x), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        return softmax_s8(self.layer, self.x)

    def tflite(self) -> np.ndarray:
        x = tflite_op.Tensor(self.x.shape, [self.scale], self.zero_point)
        output = tflite_op.Tensor(self.x.shape, [1 / 256], -128)
        return tflite_op.softmax(x, output, self.beta).run(self.x)

    def vectors(self) -> Vectors:
        scalars = [self.positions, self.classes]
        return Vectors(self.kernel, scalars, [self.x, self.layer.exp_q31], self.numpy())


@dataclass(frozen=True)
class Table:
    """lut_s8 of all 256 inputs, or of the first `length`; code is the operator's in TFLite.

    Scales and zero points that are not given are drawn from the seed.
    """

    code: str
    suffix: str
    seed: int
    scales: tuple[float, float] | None = None
    zero_points: tuple[int, int] | None = None
    alpha: float = 0.3
    length: int = 256
    kernel: str = "lut_s8"

    @property
    def name(self) -> str:
        return f"{self.code.lower()}_{self.suffix}"

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        in_scale = np.float32(10 ** rng.uniform(-3, 0))
        out_scale = np.float32(in_scale * 2 ** rng.uniform(-3, 3))
        in_scale, out_scale = self.scales or (in_scale, out_scale)
        fixed = {"LOGISTIC": 1 / 256, "TANH": 1 / 128}
        zero_points = self.zero_points or rng.integers(-128, 128, 2).tolist()
        source = Quantization(in_scale, zero_points[0])
        to = Quantization(fixed.get(self.code, out_scale), zero_points[1])
        x = np.arange(-128, 128, dtype=np.int8)[np.newaxis, : self.length]
        for key, value in (("x", x), ("source", source), ("to", to)):
            object.__setattr__(self, key, value)

    def table(self) -> np.ndarray:
        match self.code:
            case "LEAKY_RELU":
                return leaky_relu_table(self.alpha, self.source, self.to)
            case "RELU" | "RELU6":
                return relu_table(self.code.lower(), self.source, self.to)
        builders = {
            "LOGISTIC": logistic_table,
            "TANH": tanh_table,
            "HARD_SWISH": hard_swish_table,
            "QUANTIZE": requantize_table,
        }
        return builders[self.code](self.source, self.to)

    def numpy(self) -> np.ndarray:
        return lut_s8(LutS8(self.x.size, self.table()), self.x)

    def tflite(self) -> np.ndarray:
        x, output = (
            tflite_op.Tensor(self.x.shape, [side.scale], side.zero_point)
            for side in (self.source, self.to)
        )
        if self.code == "LEAKY_RELU":
            return tflite_op.leaky_relu(x, output, self.alpha).run(self.x)
        return tflite_op.elementwise(self.code, x, output).run(self.x)

    def vectors(self) -> Vectors:
        return Vectors(self.kernel, [], [self.x, self.table()], self.numpy())


class Move(Protocol):
    """An operator that copy_s8 does. Shapes are those of a sample, without the batch."""

    def copy(self, shape: Shape) -> CopyS8: ...

    def out_shape(self, shape: Shape) -> Shape: ...

    def op(self, x: tflite_op.Tensor, output: tflite_op.Tensor) -> tflite_op.OneOp: ...


@dataclass(frozen=True)
class Transpose:
    order: tuple[int, ...]

    def copy(self, shape: Shape) -> CopyS8:
        return transpose_copy(shape, self.order)

    def out_shape(self, shape: Shape) -> Shape:
        return tuple(shape[axis] for axis in self.order)

    def op(self, x: tflite_op.Tensor, output: tflite_op.Tensor) -> tflite_op.OneOp:
        return tflite_op.transpose(x, output, [0, *(axis + 1 for axis in self.order)])


@dataclass(frozen=True)
class Slice:
    begin: tuple[int, ...]
    end: tuple[int, ...]
    step: tuple[int, ...]

    def copy(self, shape: Shape) -> CopyS8:
        return slice_copy(shape, self.begin, self.end, self.step)

    def out_shape(self, shape: Shape) -> Shape:
        return tuple(map(len, map(range, self.begin, self.end, self.step)))

    def op(self, x: tflite_op.Tensor, output: tflite_op.Tensor) -> tflite_op.OneOp:
        # TFLite counts a negative end from the back: one before element 0 is -1 - size.
        sizes = x.shape[1:]
        ends = [end if end >= 0 else end - size for end, size in zip(self.end, sizes, strict=True)]
        return tflite_op.strided_slice(x, output, [0, *self.begin], [1, *ends], [1, *self.step])


@dataclass(frozen=True)
class Split:
    axis: int
    parts: int
    part: int

    def copy(self, shape: Shape) -> CopyS8:
        begin, end = [0] * len(shape), [*shape]
        size = shape[self.axis] // self.parts
        begin[self.axis], end[self.axis] = self.part * size, (self.part + 1) * size
        return slice_copy(shape, begin, end, [1] * len(end))

    def out_shape(self, shape: Shape) -> Shape:
        return tuple(d // self.parts if k == self.axis else d for k, d in enumerate(shape))

    def op(self, x: tflite_op.Tensor, output: tflite_op.Tensor) -> tflite_op.OneOp:
        return tflite_op.split(x, output, self.axis + 1, self.parts, self.part)


@dataclass(frozen=True)
class Broadcast:
    to: tuple[int, ...]

    def copy(self, shape: Shape) -> CopyS8:
        return broadcast_copy(shape, self.to)

    def out_shape(self, shape: Shape) -> Shape:
        return self.to

    def op(self, x: tflite_op.Tensor, output: tflite_op.Tensor) -> tflite_op.OneOp:
        return tflite_op.broadcast_to(x, output)


@dataclass(frozen=True)
class Copy:
    """copy_s8 as a move."""

    name: str
    seed: int
    shape: Shape
    move: Move
    zero_point: int = 5
    kernel: str = "copy_s8"

    def __post_init__(self) -> None:
        x = _int8(np.random.default_rng(self.seed), (1, *self.shape))
        object.__setattr__(self, "x", x)

    def numpy(self) -> np.ndarray:
        shape = self.move.out_shape(self.shape)
        output = np.zeros((1, math.prod(shape)), np.int8)
        copy_s8(self.move.copy(self.shape), self.x.reshape(1, -1), output)
        return output.reshape(1, *shape)

    def tflite(self) -> np.ndarray:
        x, output = (
            tflite_op.Tensor(t.shape, [0.1], self.zero_point) for t in (self.x, self.numpy())
        )
        return self.move.op(x, output).run(self.x)

    def vectors(self) -> Vectors:
        expected = self.numpy()
        scalars = [*_flat(self.move.copy(self.shape)), expected.size]
        return Vectors(self.kernel, scalars, [self.x], expected)


@dataclass(frozen=True)
class Concatenation:
    """concatenation_s8 of samples, along an axis of theirs."""

    name: str
    seed: int
    shapes: list[Shape]
    axis: int
    zero_point: int = 5
    kernel: str = "concatenation_s8"

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        xs = [_int8(rng, (1, *shape)) for shape in self.shapes]
        layer = concatenation_of(self.shapes, self.axis)
        for key, value in (("xs", xs), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        shape = [*self.shapes[0]]
        shape[self.axis] = sum(each[self.axis] for each in self.shapes)
        flat = (x.reshape(1, -1) for x in self.xs)
        return concatenation_s8(self.layer, *flat).reshape(1, *shape)

    def tflite(self) -> np.ndarray:
        inputs = [
            tflite_op.Tensor(x.shape, [0.1], self.zero_point, data=x if k else None)
            for k, x in enumerate(self.xs)
        ]
        output = tflite_op.Tensor(self.numpy().shape, [0.1], self.zero_point)
        return tflite_op.concatenation(inputs, output, self.axis + 1).run(self.xs[0])

    def vectors(self) -> Vectors:
        expected = self.numpy()
        scalars = [value for copy in self.layer.copies for value in _flat(copy)]
        return Vectors(self.kernel, [*scalars, expected.size], self.xs, expected)


@dataclass(frozen=True)
class Float:
    """quantize_f32_s8 of numbers around every tie and beyond the range, or dequantize_s8_f32.

    length, if given, takes so many of them. strange adds what TFLite leaves undefined.
    """

    kernel: str
    name: str
    scale: float = 0.05
    zero_point: int = 7
    length: int | None = None
    strange: bool = False

    def __post_init__(self) -> None:
        scale = float(np.float32(self.scale))
        x: np.ndarray = np.arange(-128, 128, dtype=np.int8)
        if self.kernel == "quantize_f32_s8":
            ties = (np.arange(-600, 600) / 2 * scale).astype(np.float32)
            ends = np.array([np.inf, -np.inf], np.float32)
            near = [ties, np.nextafter(ties, ends[0]), np.nextafter(ties, ends[1])]
            random = np.random.default_rng(0).normal(0, 100 * scale, 500).astype(np.float32)
            beyond = np.array([-0.0, 1e3 * scale, -1e3 * scale, 1e-45], np.float32)
            x = np.concatenate([*near, random, beyond])
            if self.strange:
                x = np.concatenate([x, ends, np.array([np.nan, 3e38, -3e38], np.float32)])
        kind = QuantizeF32S8 if self.kernel == "quantize_f32_s8" else DequantizeS8F32
        x = x[np.newaxis, : self.length]
        for key, value in (("x", x), ("layer", kind(x.size, scale, self.zero_point))):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        if self.kernel == "quantize_f32_s8":
            return quantize_f32_s8(self.layer, self.x)
        return dequantize_s8_f32(self.layer, self.x)

    def tflite(self) -> np.ndarray:
        x, output = (
            tflite_op.Tensor(
                t.shape, [self.scale] if t.dtype == np.int8 else [], self.zero_point, dtype=t.dtype
            )
            for t in (self.x, self.numpy())
        )
        code = "QUANTIZE" if self.kernel == "quantize_f32_s8" else "DEQUANTIZE"
        return tflite_op.elementwise(code, x, output).run(self.x)

    def vectors(self) -> Vectors:
        scale = np.array([self.layer.scale], np.float32)
        return Vectors(self.kernel, [self.zero_point], [scale, self.x], self.numpy())


@dataclass(frozen=True)
class Pad:
    """pad_s8 of a sample; padding (before, after) per axis."""

    name: str
    seed: int
    shape: Shape
    padding: tuple[tuple[int, int], ...]
    zero_point: int = -3
    kernel: str = "pad_s8"

    def __post_init__(self) -> None:
        x = _int8(np.random.default_rng(self.seed), (1, *self.shape))
        layer = pad_of(self.shape, self.padding, self.zero_point)
        for key, value in (("x", x), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        shape = np.add(self.shape, np.sum(self.padding, axis=1))
        return pad_s8(self.layer, self.x.reshape(1, -1)).reshape(1, *shape)

    def tflite(self) -> np.ndarray:
        x = tflite_op.Tensor(self.x.shape, [0.1], self.zero_point)
        output = tflite_op.Tensor(self.numpy().shape, [0.1], self.zero_point)
        return tflite_op.pad(x, output, [(0, 0), *self.padding]).run(self.x)

    def vectors(self) -> Vectors:
        scalars = [self.layer.length, self.layer.value, *_flat(self.layer.copy)]
        return Vectors(self.kernel, scalars, [self.x], self.numpy())


@dataclass(frozen=True)
class ResizeNearest:
    """resize_nearest_s8."""

    name: str
    seed: int
    in_hwc: tuple[int, int, int] = (5, 4, 3)
    out_hw: tuple[int, int] = (10, 8)
    align_corners: bool = False
    half_pixel_centers: bool = False
    kernel: str = "resize_nearest_s8"

    def __post_init__(self) -> None:
        x = _int8(np.random.default_rng(self.seed), (1, *self.in_hwc))
        index = (
            nearest_index(*sizes, self.align_corners, self.half_pixel_centers)
            for sizes in zip(self.in_hwc[:2], self.out_hw, strict=True)
        )
        layer = ResizeNearestS8(*self.in_hwc[1:], *self.out_hw, *index)
        for key, value in (("x", x), ("layer", layer)):
            object.__setattr__(self, key, value)

    def numpy(self) -> np.ndarray:
        return resize_nearest_s8(self.layer, self.x)

    def tflite(self) -> np.ndarray:
        x, output = (tflite_op.Tensor(t.shape, [0.1], 0) for t in (self.x, self.numpy()))
        op = tflite_op.resize_nearest_neighbor(
            x, output, self.align_corners, self.half_pixel_centers
        )
        return op.run(self.x)

    def vectors(self) -> Vectors:
        scalars = [*self.in_hwc[1:], *self.out_hw]
        arrays = [self.layer.row, self.layer.column, self.x]
        return Vectors(self.kernel, scalars, arrays, self.numpy())


@dataclass(frozen=True)
class PoolSum:
    """pool_sum_s8 or pool_moments_s8 of random bytes, or of one value everywhere.

    halves: one half of the positions holds the smallest value, the other the largest.
    """

    name: str
    seed: int
    positions: int = 35
    channels: int = 16
    zero_point: int = 4
    value: int | None = None
    halves: bool = False
    kernel: str = "pool_sum_s8"

    def vectors(self) -> Vectors:
        shape = (BATCH, self.positions, self.channels)
        x = _int8(np.random.default_rng(self.seed), shape)
        if self.value is not None:
            x[:] = self.value
        if self.halves:
            x[:] = -128
            x[:, : self.positions // 2] = 127
        scalars = [self.positions, self.channels, self.zero_point]
        pool = pool_sum_s8 if self.kernel == "pool_sum_s8" else pool_moments_s8
        return Vectors(self.kernel, scalars, [x], pool(x, self.zero_point))


@dataclass(frozen=True)
class Requantize:
    """requantize of edge values and random ones of every magnitude."""

    name: str
    seed: int
    mantissa: int
    shift: int
    kernel: str = "requantize"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        edges = [0, 1, -1, 2, -2, 3, -3, INT32.min, INT32.min + 1, INT32.max, INT32.max - 1]
        powers = [sign * 2**bit + by for sign in (1, -1) for bit in range(31) for by in (-1, 0, 1)]
        random = rng.integers(INT32.min, INT32.max, 500) >> rng.integers(0, 31, 500)
        value = np.concatenate([edges, powers, random]).astype(np.int32)
        expected = requantize(value, self.mantissa, self.shift).astype(np.int32)
        return Vectors(self.kernel, [self.mantissa, self.shift], [value], expected)


@dataclass(frozen=True)
class Residual:
    """residual_s8; reach scales the sums, so that a large one saturates every step.

    after_reach, if given, is that of the sums after the block alone. std_sum: of the pooled sums
    that the parameters are made for. shifts: of the multipliers of latent, mean and xi.
    class_shift is that of the class means.
    """

    name: str
    seed: int
    in_channels: int = 16
    channels: int = 24
    rank: int = 0
    components: int = 1
    classes: int = 0
    class_shift: int = 10
    reach: float = 1.0
    after_reach: float | None = None
    std_sum: float = 900.0
    shifts: tuple[int, int, int] = (-6, -2, -13)
    offset_limit: int = 1 << 18
    xi_zero_point: int = 10
    xi_scale: float = 0.02
    kernel: str = "residual_s8"

    def draw(self) -> tuple[HeadS8, np.ndarray, np.ndarray, np.ndarray]:
        """The head, pooled sums before the block and after it [50, channels], classes [50]."""
        rng = np.random.default_rng(self.seed)
        inputs = self.rank or self.in_channels
        rows = self.components * self.channels

        def standardize(channels: int, one: int, rows: int = 0) -> Standardize:
            real = one / (self.std_sum * rng.uniform(0.1, 10, channels))
            mantissa, shift = quantize_multipliers_shared(real)
            limit = self.offset_limit * one >> 16  # the same number of deviations in both formats
            offset = rng.integers(-limit, limit, rows or channels, endpoint=True)
            return Standardize(
                mantissa, np.clip(offset, -INT32.max, INT32.max, dtype=np.int32), shift
            )

        def weights(*shape: int) -> np.ndarray:
            return rng.integers(-127, 128, shape).astype(np.int8)

        def sums(channels: int, reach: float) -> np.ndarray:
            drawn = rng.normal(0, self.std_sum * reach, (50, channels))
            return np.clip(drawn, INT32.min, INT32.max).astype(np.int32)

        head = HeadS8(
            in_channels=self.in_channels,
            channels=self.channels,
            components=self.components,
            rank=self.rank,
            before=standardize(self.in_channels, 1 << 10),
            after=standardize(self.channels, 1 << 16, rows),
            projector=weights(self.rank, self.in_channels),
            latent=Multiplier(1_500_000_000, self.shifts[0]),
            mean_weights=weights(rows, inputs),
            mean=Multiplier(1_800_000_000, self.shifts[1]),
            xi_weights=weights(rows, inputs),
            xi_bias=rng.integers(-(2**16), 2**16, rows).astype(np.int32),
            xi=Multiplier(1_200_000_000, self.shifts[2]),
            xi_zero_point=self.xi_zero_point,
            inverse_sigma_q9=inverse_sigma_q9_table(self.xi_scale, self.xi_zero_point),
            class_mean=weights(self.classes, self.channels),
            class_scale=Multiplier(1_700_000_000, self.class_shift),
        )
        after_reach = self.reach if self.after_reach is None else self.after_reach
        before, after = sums(self.in_channels, self.reach), sums(self.channels, after_reach)
        return head, before, after, rng.integers(0, max(self.classes, 1), 50).astype(np.int32)

    def expected(self) -> np.ndarray:
        """int32 [50, 2 rows + inputs]: u, inverse sigma, latent."""
        found = residual_s8(*self.draw())
        parts = (found.u_q12, found.inverse_sigma_q9, found.latent)
        return np.concatenate([part.astype(np.int32) for part in parts], axis=1)

    def vectors(self) -> Vectors:
        head, before, after, predicted = self.draw()
        arrays = [head.before.mantissa, head.before.offset, head.after.mantissa, head.after.offset]
        arrays += [head.projector, head.mean_weights, head.xi_weights, head.xi_bias]
        sizes = [self.in_channels, self.channels, self.components, self.rank]
        multipliers = (head.latent, head.mean, head.xi, head.class_scale)
        pairs = [number for multiplier in multipliers for number in astuple(multiplier)]
        return Vectors(
            self.kernel,
            [*sizes, head.before.shift, head.after.shift, *pairs, head.xi_zero_point],
            [*arrays, head.inverse_sigma_q9, head.class_mean, before, after, predicted],
            self.expected(),
        )


@dataclass(frozen=True)
class EnergyOf:
    """An energy of random residuals of every size up to reach, and of some at the limit."""

    kernel: str
    name: str
    seed: int
    channels: int = 24
    reach: float = 4.0
    nu: float = 5.0
    delta: float = 1.0
    factors: int = 4
    factor_reach: float = 1.0
    components: int = 2
    logit_shift: int = -8

    def draw(self) -> tuple[Energy, Residuals]:
        rng = np.random.default_rng(self.seed)
        rows = self.channels * (self.components if "mixture" in self.kernel else 1)
        limit = (1 << 26) - 1
        u = rng.normal(0, self.reach * 4096, (50, rows)) * rng.uniform(0, 2, (50, 1))
        u_q12 = np.clip(np.rint(u), -limit, limit).astype(np.int64)
        u_q12[0], u_q12[1], u_q12[2] = 0, limit, -limit
        # A share of the rows at its limit among others.
        u_q12[3, 0], u_q12[4, -1] = limit, -limit
        wide = rng.integers(51, 51200, (50, rows), endpoint=True)
        inverse_sigma = np.maximum(wide >> rng.integers(0, 8, (50, rows)), 51)
        inverse_sigma[5:7] = [[51], [51200]]
        latent = rng.integers(-32768, 32768, (50, 9))
        return self.energy(rng), Residuals(u_q12, inverse_sigma.astype(np.uint16), latent)

    def energy(self, rng: Rng) -> Energy:
        match self.kernel:
            case "energy_student_t_q16":
                return EnergyStudentT(round(2**18 / self.nu), round((self.nu + 1) * 65536))
            case "energy_huber_q16":
                return EnergyHuber(round(self.delta * 4096))
            case "energy_lowrank_f32":
                factor = rng.normal(0, self.factor_reach, (self.channels, self.factors))
                return EnergyLowrank(self.factors, factor.astype(np.float32))
            case "energy_mixture_q16":
                weights = rng.integers(-127, 128, (self.components, 9)).astype(np.int8)
                bias = rng.integers(-(2**24), 2**24, self.components).astype(np.int32)
                logit = Multiplier(1_300_000_000, self.logit_shift)
                return EnergyMixture(self.components, 9, weights, bias, logit)
        return EnergyGaussian()

    def vectors(self) -> Vectors:
        energy, residual = self.draw()
        scalars = [self.channels]
        arrays = [residual.u_q12.astype(np.int32)]
        match energy:
            case EnergyStudentT():
                scalars += astuple(energy)
                arrays.append(log2_q15_table())
            case EnergyHuber():
                scalars += astuple(energy)
            case EnergyLowrank():
                scalars.append(energy.factors)
                arrays += [residual.inverse_sigma_q9, energy.factor]
            case EnergyMixture():
                scalars += [energy.components, energy.inputs, *astuple(energy.logit)]
                arrays += [residual.inverse_sigma_q9, residual.latent.astype(np.int16)]
                arrays += [energy.weights, energy.bias, log2_q15_table()]
        return Vectors(self.kernel, scalars, arrays, energy.q16(residual))


@dataclass(frozen=True)
class Exp:
    """exp_q16 of small numbers, of the edges of its octaves, and of numbers beyond all of them."""

    name: str
    seed: int
    kernel: str = "exp_q16"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        edges = [round(k * math.log(2) * 65536) + by for k in range(20) for by in (-1, 0, 1)]
        large = [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 1 << 32, 1 << 56]
        random = rng.integers(0, 1 << 20, 500) >> rng.integers(0, 20, 500)
        value = np.concatenate([[0, 1, 2], edges[1:], large, random]).astype(np.uint64)
        return Vectors(self.kernel, [], [value], exp_q16(value).astype(np.uint32))


@dataclass(frozen=True)
class Mahalanobis:
    """mahalanobis_s8; reach scales the sums, so that a large one saturates every step. full: all
    weights of a row at the end of what its accumulator holds. edges: the largest sums that there
    are come first."""

    name: str
    seed: int
    channels: int = 24
    rank: int = 24
    classes: int = 10
    reach: float = 1.0
    full: bool = False
    edges: bool = True
    centre_limit: int = 2048
    kernel: str = "mahalanobis_s8"

    def draw(self) -> tuple[MahalanobisS8, np.ndarray, np.ndarray]:
        """The parameters, pooled sums [50, channels], answers [50]."""
        rng = np.random.default_rng(self.seed)
        mantissa, shift = quantize_multipliers_shared(
            1024 / (900.0 * rng.uniform(0.1, 10, self.channels))
        )
        offset = rng.integers(-4096, 4096, self.channels).astype(np.int32)
        limit = min(127, 65535 // self.channels)
        weights = rng.integers(-limit, limit + 1, (self.rank, self.channels))
        row_scale = rng.uniform(0.1, 10, self.rank) / (60 * self.channels**0.5 * self.rank**0.5)
        latent, latent_shift = quantize_multipliers_shared(row_scale)
        head = MahalanobisS8(
            channels=self.channels,
            rank=self.rank,
            classes=self.classes,
            input=Standardize(mantissa, offset, shift),
            whitening=(np.where(weights < 0, -limit, limit) if self.full else weights).astype(
                np.int8
            ),
            mantissa=latent,
            shift=latent_shift,
            centre=rng.integers(
                -self.centre_limit, self.centre_limit + 1, (self.classes, self.rank)
            ).astype(np.int16),
        )
        drawn = rng.normal(0, 900.0 * self.reach, (50, self.channels))
        total = np.clip(drawn, INT32.min, INT32.max).astype(np.int32)
        if self.edges:
            total[:2] = [[INT32.min], [INT32.max]]
        if self.full and self.edges:
            total[2:4] = np.sign(head.whitening[:1].astype(np.int32)) * [[INT32.max], [-INT32.max]]
        answer = rng.integers(0, self.classes, len(total)).astype(np.int32)
        return head, total, answer

    def vectors(self) -> Vectors:
        head, total, answer = self.draw()
        given, rows = head.input, [head.whitening, head.mantissa, head.centre]
        return Vectors(
            self.kernel,
            [self.channels, self.rank, self.classes, given.shift, head.shift],
            [given.mantissa, given.offset, *rows, total, answer],
            mahalanobis_s8(head, total, answer),
        )


@dataclass(frozen=True)
class Score:
    """score_q16; top scales the surprisals up to the largest there is."""

    name: str
    seed: int
    taps: int = 3
    top: int = 1 << 22
    kernel: str = "score_q16"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        weight = quantize_weights_q16(rng.random(self.taps))
        surprisal = rng.integers(0, self.top, (100, self.taps), endpoint=True).astype(np.uint32)
        surprisal[0] = self.top
        expected = score_q16(surprisal, weight)
        return Vectors(self.kernel, [self.taps], [weight, surprisal], expected)


@dataclass(frozen=True)
class Ln:
    """ln_q16 and ln_of_q16 around every power of two and at random."""

    name: str
    seed: int
    kernel: str = "ln_q16"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        edges = [0, 2**32 - 1, *(2**bit + by for bit in range(2, 32) for by in (-1, 0, 1))]
        random = rng.integers(0, 2**32, 1000) >> rng.integers(0, 32, 1000)
        value = np.concatenate([edges, random]).astype(np.uint32)
        expected = np.stack([ln_q16(value), ln_of_q16(value)], axis=1).astype(np.int32)
        return Vectors(self.kernel, [], [log2_q15_table(), value], expected)


@dataclass(frozen=True)
class Sigmoid:
    """sigmoid_q16 at the limits of the table and of int64, and at random."""

    name: str
    seed: int
    kernel: str = "sigmoid_q16"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        ends = [0, 1, 4095, 4096, 2**20 - 2, 2**20 - 1, 2**20, 2**31, 2**63 - 1]
        edges = [sign * end for sign in (1, -1) for end in ends] + [-(2**63)]
        random = rng.integers(-(2**21), 2**21, 1000)
        t = np.concatenate([np.array(edges, np.int64), random])
        return Vectors(self.kernel, [], [sigmoid_tail_q16_table(), t], sigmoid_q16(t))


@dataclass(frozen=True)
class Logits:
    """What logits say: class, error logit, doubt, free energy, of random, tied and extreme ones."""

    name: str
    seed: int
    classes: int = 10
    alpha_q16: int = 40000
    step: float = 0.2
    kernel: str = "confidence"

    def vectors(self) -> Vectors:
        logits = _int8(np.random.default_rng(self.seed), (40, self.classes))
        logits[0], logits[1] = -128, 127
        logits[2], logits[2, -1] = -128, 127
        confidence = confidence_of(self.classes, self.step, 1.3)
        predicted = argmax_s8(logits)
        doubt = doubt_q16(confidence, logits, predicted, self.alpha_q16).astype(np.int32)
        expected = [predicted, error_logit_q16(confidence, logits, predicted), doubt]
        expected += [free_energy_q16(confidence, logits, predicted)]
        return Vectors(
            self.kernel,
            [self.classes, confidence.step_q16, self.alpha_q16],
            [confidence.exp_q15, log2_q15_table(), logits],
            np.stack(expected, axis=1),
        )


@dataclass(frozen=True)
class Probability:
    """probability_q16 of random, tied and extreme logits."""

    name: str
    seed: int
    classes: int
    scale: float
    kernel: str = "probability_q16"

    def vectors(self) -> Vectors:
        logits = _int8(np.random.default_rng(self.seed), (40, self.classes))
        logits[0], logits[1] = -128, 127
        logits[2], logits[2, -1] = -128, 127
        step_q24 = probability_step_q24(self.scale)
        expected = probability_q16(logits, step_q24)
        return Vectors(self.kernel, [self.classes, step_q24], [logits], expected)


@dataclass(frozen=True)
class Entropy:
    """entropy_q16 of random probabilities, of one that is certain, of equal ones, and of 0."""

    name: str
    seed: int
    classes: int
    kernel: str = "entropy_q16"

    def vectors(self) -> Vectors:
        drawn = np.random.default_rng(self.seed).dirichlet(np.full(self.classes, 0.3), 60)
        drawn[0], drawn[0, 0], drawn[1] = 0, 1, 1 / self.classes
        probability = np.rint(65536 * drawn).astype(np.uint32)
        probability[2] = 0
        arrays = [log2_q15_table(), probability]
        return Vectors(self.kernel, [self.classes], arrays, entropy_q16(probability))


@dataclass(frozen=True)
class Average:
    """average_q16 of random numbers up to 65536, which all members reach in the first."""

    name: str
    seed: int
    members: int
    classes: int = 5
    kernel: str = "average_q16"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        value = rng.integers(0, 65537, (20, self.members, self.classes)).astype(np.uint32)
        value[0] = 65536
        return Vectors(self.kernel, [self.members, self.classes], [value], average_q16(value))


@dataclass(frozen=True)
class Clip:
    """clip_s8 of all int8 numbers, in place."""

    name: str
    limit: int
    kernel: str = "clip_s8"

    def vectors(self) -> Vectors:
        x = np.arange(-128, 128).astype(np.int8)
        return Vectors(self.kernel, [self.limit], [x], clip_s8(ClipS8(256, self.limit), x))


@dataclass(frozen=True)
class Ash:
    """ash_s8 of a batch; values: how many different ones there are, few for ties."""

    name: str
    seed: int
    length: int
    kept: int
    zero_point: int = -128
    values: int = 256
    batch: int = 20
    kernel: str = "ash_s8"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        x = rng.integers(-128, -128 + self.values, (self.batch, self.length)).astype(np.int8)
        layer = AshS8(self.length, self.kept, self.zero_point)
        scalars = [self.length, self.kept, self.zero_point]
        return Vectors(self.kernel, scalars, [x], ash_s8(layer, x))


@dataclass(frozen=True)
class Map:
    """A map of random and extreme scores and confidences. rising: "surprise" or "confidence", the
    one that ascends while the other stands still, or "both": U must not fall."""

    name: str
    seed: int
    parameters: MapGated | MapClassGated | MapLogistic | MapIsotonic
    rising: str = ""

    @property
    def kernel(self) -> str:
        kinds = {
            MapGated: "gated",
            MapClassGated: "class_gated",
            MapLogistic: "logistic",
            MapIsotonic: "isotonic",
        }
        return f"map_{kinds[type(self.parameters)]}_q16"

    def _ordered(self, values: np.ndarray, of: str) -> np.ndarray:
        if self.rising in (of, "both"):
            return np.sort(values, axis=0)
        # Its last value is a random one, no edge.
        return np.broadcast_to(values[-1], values.shape).copy() if self.rising else values

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        score = rng.integers(0, 2**31, 300) >> rng.integers(0, 31, 300)
        edges = [0, 1, 65536, 2**31 - 1, 2**32 - 1]
        if isinstance(self.parameters, MapIsotonic):
            edges += self.parameters.breakpoint_q16.tolist()
        score = np.concatenate([edges, score]).astype(np.uint32)
        doubt = rng.integers(0, 65537, len(score)).astype(np.uint32)
        error_logit = rng.integers(-(2**21), 2**19, len(score)).astype(np.int32)
        score = self._ordered(score, "surprise")
        doubt, error_logit = (self._ordered(v, "confidence") for v in (doubt, error_logit))
        tail, given = sigmoid_tail_q16_table(), self.parameters
        match given:
            case MapGated():
                gates = len(given.slope_q16)
                inputs = rng.integers(-(2**20), 2**20, (len(score), gates)).astype(np.int32)
                inputs[:2] = [[INT32.min], [INT32.max]]
                inputs[2:4] = given.theta_q16, np.minimum(given.theta_q16, INT32.max - 1) + 1
                inputs = self._ordered(inputs, "surprise")
                scalars = [given.b0_q16, given.b2_q16, gates]
                arrays = [given.slope_q16, given.theta_q16, tail, inputs, error_logit]
                expected = map_gated_q16(given, inputs, error_logit)
                return Vectors(self.kernel, scalars, arrays, expected)
            case MapClassGated():
                taps, classes = len(given.slope_q16), len(given.offset_q16)
                shape = len(score), taps + len(given.also_q16)
                inputs = rng.integers(-(2**20), 2**20, shape).astype(np.int32)
                inputs[:2] = [[INT32.min], [INT32.max]]
                inputs[2, :taps] = given.theta_q16
                inputs[3, :taps] = np.minimum(given.theta_q16, INT32.max - 1) + 1
                inputs = self._ordered(inputs, "surprise")
                error_logit[:3] = INT32.min, INT32.max, 0
                error_logit = self._ordered(error_logit, "confidence")
                answer = rng.integers(0, classes, len(score)).astype(np.int32)
                answer = answer * 0 + answer[0] if self.rising else answer
                scalars = [given.b0_q16, given.b2_q16, given.familiar_q16, taps]
                scalars.append(len(given.also_q16))
                arrays = [given.slope_q16, given.theta_q16, given.inverse_cap_q16]
                arrays += [given.also_q16, given.offset_q16, given.strange_offset_q16, tail]
                expected = map_class_gated_q16(given, inputs, error_logit, answer)
                return Vectors(
                    self.kernel, scalars, [*arrays, inputs, error_logit, answer], expected
                )
            case MapLogistic():
                expected = map_logistic_q16(given, score, doubt)
                return Vectors(self.kernel, astuple(given), [tail, score, doubt], expected)
            case MapIsotonic():
                arrays = [given.breakpoint_q16, given.value_q16, score, doubt]
                scalars = [given.gamma_q16, len(given.breakpoint_q16)]
                return Vectors(self.kernel, scalars, arrays, map_isotonic_q16(given, score, doubt))


@dataclass(frozen=True)
class HiddenLayer:
    """hidden_q16; top: the largest size of a parameter or an input."""

    name: str
    seed: int
    units: int = 16
    inputs: int = 5
    classes: int = 3
    top: int = 1 << 20
    kernel: str = "hidden_q16"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)

        def drawn(*shape: int) -> np.ndarray:
            return rng.integers(-self.top, self.top, shape).astype(np.int32)

        shapes = ((self.units,), (self.units, self.inputs), (self.units, self.classes))
        layer = Hidden(*(drawn(*shape) for shape in shapes))
        x, answer = drawn(100, self.inputs), rng.integers(0, self.classes, 100).astype(np.int32)
        x[:2] = [[INT32.min], [INT32.max]]
        scalars = [self.units, self.inputs, self.classes, 12345]
        arrays = [layer.out_q16, layer.weight_q16, layer.bias_q16, x, answer]
        return Vectors(self.kernel, scalars, arrays, hidden_q16(layer, 12345, x, answer))


@dataclass(frozen=True)
class Control:
    """The budget controller over a stream of random U, one in four of them 0, 65536 or exactly
    the first threshold, then of nothing but 65536, nothing but 0, and random ones again."""

    name: str
    seed: int
    parameters: Budget
    length: int = 501
    kernel: str = "budget_q24"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        u = np.minimum(rng.exponential(12000, self.length), 65536).astype(np.uint32)
        extreme = rng.random(self.length) < 0.25
        u[extreme] = rng.choice([0, 65536, self.parameters.threshold_q24 >> 8], extreme.sum())
        u[self.length // 3 : self.length // 2] = 65536
        u[self.length // 2 : 2 * self.length // 3] = 0
        abstain, states = budget_run(self.parameters, u)
        expected = np.column_stack([abstain, states]).astype(np.int32)
        return Vectors(self.kernel, astuple(self.parameters), [u], expected)


@dataclass(frozen=True, eq=False)
class Watch:
    """An alarm over a stream of random scores that drifts upwards and back, some of them exactly
    an edge; it is cleared once, its baseline taken anew once, and it goes on once from a state that
    no stream leaves."""

    name: str
    seed: int
    detector: int
    baseline: int = 0
    confidence_q16: int = 0
    limit_q16: int = 1 << 20
    largest_q16: int = 4 << 16
    length: int = 700
    kernel: str = "alarm"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        edges = np.sort(rng.integers(0, 65537, 15)).astype(np.uint32)
        gains = np.sort(rng.integers(-self.largest_q16, self.largest_q16, 16)).astype(np.int32)
        places = {ALARM_MEAN: (-10 << 16, -30 << 16, -50 << 16)}
        threshold, clear, start = places.get(self.detector, (6 << 16, 0, 0))
        alarm = Alarm(
            self.detector, edges, gains, threshold, clear, start,
            int(gains[8]), self.limit_q16, self.baseline, self.confidence_q16,
        )  # fmt: skip
        drift = np.sin(np.arange(self.length) / 60) * 20000 + 25000
        value = np.clip(rng.normal(drift, 15000), 0, 65536).astype(np.uint32)
        value[::7] = rng.choice([0, 65536, 2**32 - 1, *edges.tolist()], len(value[::7]))
        uncertainty = rng.integers(0, 65537, self.length).astype(np.uint32)
        before = np.zeros(self.length, np.uint32)
        for action in (1, 2, 3):
            before[action * self.length // 4] = action * (self.length > 1)
        state, rows = alarm_start(alarm), []
        for v, u, action in zip(value, uncertainty, before, strict=True):
            if action == 3:
                state = alarm_resume(alarm, self._odd_state(state))
            elif action:
                (alarm_clear if action == 1 else alarm_baseline)(alarm, state)
            on = alarm_step(alarm, state, v[None], u[None])
            members = ("statistic_q16", "offset_q16", "frames", "right_q24", "baseline_sum_q16")
            counts = ("baseline_left", "alarms")
            rows.append([on[0], *(getattr(state, name)[0] for name in (*members, *counts))])
        scalars = [
            alarm.detector, alarm.threshold_q16, alarm.clear_q16, alarm.start_q16,
            alarm.offset_q16, alarm.limit_q16, alarm.baseline, alarm.confidence_q16,
        ]  # fmt: skip
        arrays = [edges, gains, log2_q15_table(), value, uncertainty, before]
        expected = np.array(rows, np.int64).astype(np.uint32).astype(np.int32)
        return Vectors(self.kernel, scalars, arrays, expected)

    @staticmethod
    def _odd_state(state: AlarmState) -> AlarmState:
        """That of run_alarm in runner.c."""
        values = (2**31 - 1, -(2**31), 5, 2**32 - 1, 7, 65535, 9, 1, 200)
        names = [name for name in vars(state) if name != "window"]
        odd = {n: np.full(1, v, vars(state)[n].dtype) for n, v in zip(names, values, strict=True)}
        window = np.zeros_like(state.window)
        window[0, :4] = 1, 2, 3, 4
        return AlarmState(**odd, window=window)


@dataclass(frozen=True)
class Keep:
    """Random values, many of them equal, offered to so many places."""

    name: str
    seed: int
    capacity: int
    length: int = 200
    kernel: str = "evidence"

    def vectors(self) -> Vectors:
        rng = np.random.default_rng(self.seed)
        values = rng.choice([0, 1, 2**32 - 1, *range(0, 65537, 2048)], self.length)
        evidence, rows = Evidence(self.capacity), []
        for value in values.tolist():
            kept = evidence_offer(evidence, value)
            places = evidence.places + [-1] * (self.capacity - len(evidence.places))
            rows.append([kept, len(evidence.values), evidence.free, *places])
        return Vectors(
            self.kernel, [self.capacity], [values.astype(np.uint32)], np.array(rows, np.int32)
        )


@dataclass(frozen=True)
class Records:
    """Telemetry of a stream of random frames and alarms, which begins anew once."""

    name: str
    seed: int
    each: int  # frames of a record
    length: int
    has_alarm: bool = True
    top: int = 65536
    kernel: str = "telemetry"

    def vectors(self) -> Vectors:
        rng, n = np.random.default_rng(self.seed), self.length
        uncertainty = rng.integers(0, 65537, n).astype(np.uint32)
        foreign_q16 = np.clip(rng.normal(4096, 4096, n), 0, 65536).astype(np.uint32)
        uncertainty[::5], foreign_q16[::7] = self.top, rng.choice([0, 4095, 4096, 65536])
        abstain, foreign, on = rng.integers(0, 2, (3, n)).astype(np.int32)
        left = rng.integers(0, 3, n).astype(np.int32)
        alarms = np.cumsum(rng.integers(0, 2, n)).astype(np.int32)
        alarms[n // 2 :] -= alarms[n // 2]
        right = rng.integers(0, (1 << 24) + 1, n).astype(np.uint32)
        model_id, check, device, time = bytes(range(248, 256)), -5, (1 << 63) + 12345, 1 << 30
        identity = (
            np.array([int.from_bytes(model_id, "little")], np.uint64),
            np.array([check & 0xFFFFFFFF], np.uint32),
            np.array([device], np.uint64),
        )
        state = alarm_start(NO_ALARM)
        kept = state if self.has_alarm else None
        telemetry = telemetry_start(time, kept)
        records, full = [], []
        for i in range(n):
            if i and i % self.each == 0:
                records.append(telemetry_record(telemetry, *identity))
                telemetry_next(telemetry, time + i)
            state.alarms, state.on = alarms[i : i + 1].astype(np.int64), on[i : i + 1] > 0
            state.baseline_left = left[i : i + 1].astype(np.int64)
            state.right_q24 = right[i : i + 1].astype(np.int64)
            frame = (
                *(uncertainty[i : i + 1], abstain[i : i + 1] > 0),
                *(foreign_q16[i : i + 1], foreign[i : i + 1] > 0),
            )
            full.append(telemetry_add(telemetry, *frame, kept)[0])
        records.append(telemetry_record(telemetry, *identity))
        said = b"".join(record.tobytes() for record in records) + np.array(full, np.uint8).tobytes()
        high = device >> 32
        scalars = [check, device & 0xFFFFFFFF, high - (1 << 32), time, self.each, self.has_alarm]
        arrays = [np.frombuffer(model_id, np.uint8), uncertainty, foreign_q16, abstain, foreign]
        expected = np.frombuffer(said, np.uint8)
        return Vectors(self.kernel, scalars, [*arrays, alarms, on, left, right], expected)


@dataclass(frozen=True, eq=False)
class _Quantized:
    """Scales and bias of a layer whose output has a given standard deviation in steps."""

    in_scale: np.float32
    weight_scales: np.ndarray
    out_scale: np.float32
    bias: np.ndarray

    def multipliers(self, channels: int) -> tuple[np.ndarray, np.ndarray]:
        return output_multipliers(self.in_scale, self.weight_scales, self.out_scale, channels)

    @staticmethod
    def draw(
        rng: Rng, depth: int, outputs: int, scales: int, spread: float, ties: str
    ) -> "_Quantized":
        in_scale = np.float32(rng.uniform(0.01, 0.1))
        weight_scales = rng.uniform(0.002, 0.02, scales).astype(np.float32)
        std = 74.0 * 74.0 * np.sqrt(depth)  # of the accumulator
        out_scale = np.float32(in_scale * weight_scales.mean() * std / spread)
        if ties == "exact":
            in_scale, weight_scales, out_scale = map(
                _power_of_two, (in_scale, weight_scales, out_scale)
            )
        bias = rng.normal(0, std / 2, outputs)
        if ties:
            steps = rng.integers(-90, 90, outputs) + 0.5
            bias = steps * out_scale / (in_scale * weight_scales)
        bias = np.rint(bias).astype(np.int32)
        return _Quantized(in_scale, weight_scales, out_scale, bias)


def _flat(layer: AddS8 | MulS8 | CopyS8 | MeanS8) -> list[int]:
    """All numbers of a layer, in the order of its fields."""
    return [v for f in astuple(layer) for v in (f if isinstance(f, tuple) else (f,))]


def _power_of_two(scale: np.ndarray) -> np.ndarray:
    return np.exp2(np.rint(np.log2(scale))).astype(np.float32)


def _int8(rng: Rng, shape: tuple[int, ...]) -> np.ndarray:
    """Random int8; both extremes occur often."""
    return np.clip(rng.integers(-160, 160, shape), -128, 127).astype(np.int8)


def _gated(b0_q16: int, b2_q16: int, *gates: tuple[int, int]) -> MapGated:
    """gates: (slope, theta) each."""
    pairs = np.array(gates, np.int32).reshape(-1, 2)
    return MapGated(b0_q16, b2_q16, pairs[:, 0].copy(), pairs[:, 1].copy())


def _class_gated(
    b0_q16: int,
    b2_q16: int,
    familiar_q16: int,
    *taps: tuple[int, int, int],
    offsets: tuple[tuple[int, int], ...],
    also: tuple[int, ...] = (),
) -> MapClassGated:
    """taps: (slope, theta, inverse cap) each; offsets: (offset, strange offset) of each class;
    also: slopes of further inputs."""
    gates = np.array(taps, np.int32).reshape(-1, 3).T.copy()
    tables = np.array(offsets, np.int32).T.copy()
    return MapClassGated(b0_q16, b2_q16, familiar_q16, *gates, np.array(also, np.int32), *tables)


def _isotonic(gamma_q16: int, breakpoints: int, seed: int) -> MapIsotonic:
    rng = np.random.default_rng(seed)
    steps = np.sort(rng.choice(1 << 18, breakpoints, replace=False)).astype(np.uint32)
    values = np.sort(rng.integers(0, 65537, breakpoints + 1)).astype(np.uint32)
    return MapIsotonic(gamma_q16, steps, values)


CONV = Window("conv_s8", "plain", 1)
DEPTHWISE = Window("depthwise_conv_s8", "plain", 2, out_c=5)


@dataclass(frozen=True)
class ConvAdd:
    """conv_add_s8: a convolution and an ADD of equal shapes, written over the other operand."""

    name: str
    conv: Window
    add: Binary
    kernel: str = "conv_add_s8"

    def vectors(self) -> Vectors:
        conv, x = self.conv.layer, self.conv.x
        length = conv.out_h * conv.out_w * conv.out_c
        add = replace(self.add.layer, length=length, in1_length=length, in2_length=length)
        other = _int8(np.random.default_rng(self.conv.seed), (len(x), length))
        plain = self.conv.vectors()
        return Vectors(
            self.kernel,
            [*plain.scalars, *_flat(add)],
            [*plain.arrays, other],
            conv_add_s8(ConvAddS8(conv, add), x, other),
        )


@dataclass(frozen=True)
class Move:
    """move_s8 inside of one piece of memory, whose places may overlap."""

    name: str
    seed: int
    start: int
    length: int
    to: int
    kernel: str = "move_s8"

    def vectors(self) -> Vectors:
        size = max(self.start, self.to) + self.length + 3
        memory = _int8(np.random.default_rng(self.seed), (size,))
        expected = memory.copy()
        expected[self.to : self.to + self.length] = memory[self.start : self.start + self.length]
        return Vectors(self.kernel, [self.start, self.length, self.to], [memory], expected)


ORACLE_CASES: list[OracleCase] = [
    CONV,
    replace(CONV, name="valid", seed=10, padding="valid"),
    replace(CONV, name="stride", seed=11, stride=(2, 3)),
    replace(CONV, name="asymmetric_pad", seed=12, in_hwc=(8, 8, 3), stride=(2, 2)),
    replace(CONV, name="dilation", seed=13, in_hwc=(11, 9, 2), dilation=(2, 3)),
    replace(
        CONV, name="dilation_valid", seed=14, in_hwc=(9, 9, 4), dilation=(3, 2), padding="valid"
    ),
    replace(CONV, name="pointwise", seed=15, size=(1, 1), in_hwc=(5, 3, 9), out_c=11),
    replace(CONV, name="pointwise_stride", seed=16, size=(1, 1), stride=(2, 2)),
    replace(CONV, name="odd_kernel", seed=17, size=(5, 2), out_c=4),
    replace(CONV, name="kernel_above_input", seed=18, in_hwc=(2, 3, 3), size=(5, 7)),
    replace(CONV, name="length_1", seed=19, in_hwc=(1, 1, 1), out_c=1, size=(1, 1)),
    replace(CONV, name="one_channel", seed=20, in_hwc=(9, 7, 1), out_c=8),
    replace(CONV, name="deep", seed=21, in_hwc=(3, 3, 130), out_c=5),
    replace(CONV, name="relu", seed=22, activation="relu"),
    replace(CONV, name="relu6", seed=23, activation="relu6", spread=10.0),
    replace(CONV, name="relu_n1_to_1", seed=32, activation="relu_n1_to_1", spread=3.0),
    replace(CONV, name="saturates", seed=24, spread=3000.0),
    replace(CONV, name="left_shift", seed=25, in_hwc=(3, 3, 1), size=(1, 1), spread=40000.0),
    replace(CONV, name="vanishes", seed=26, spread=0.4),
    replace(CONV, name="near_ties", seed=29, out_c=200, size=(1, 1), ties="near"),
    replace(CONV, name="exact_ties", seed=31, out_c=200, size=(1, 1), ties="exact"),
    replace(CONV, name="per_tensor", seed=30, out_c=50, per_channel=False, ties="near"),
    replace(CONV, name="zero_points_low", seed=27, in_zero_point=-128, out_zero_point=-128),
    replace(CONV, name="zero_points_high", seed=28, in_zero_point=127, out_zero_point=127),
    replace(CONV, name="one_row", seed=32, in_hwc=(1, 9, 4), size=(1, 3)),
    DEPTHWISE,
    replace(DEPTHWISE, name="multiplier_4", seed=54, in_hwc=(6, 5, 3), out_c=12),
    replace(DEPTHWISE, name="even_kernel", seed=55, in_hwc=(7, 6, 10), out_c=10, size=(5, 4)),
    replace(DEPTHWISE, name="multiplier_2", seed=40, out_c=10),
    replace(DEPTHWISE, name="four_channels", seed=41, in_hwc=(6, 5, 8), out_c=8),
    replace(DEPTHWISE, name="one_to_many", seed=42, in_hwc=(6, 5, 1), out_c=7),
    replace(DEPTHWISE, name="valid", seed=43, padding="valid"),
    replace(DEPTHWISE, name="stride", seed=44, stride=(2, 2), in_hwc=(8, 8, 6), out_c=6),
    replace(DEPTHWISE, name="dilation", seed=45, dilation=(2, 2)),
    replace(DEPTHWISE, name="length_1", seed=46, in_hwc=(1, 1, 1), out_c=1, size=(1, 1)),
    replace(DEPTHWISE, name="kernel_above_input", seed=47, in_hwc=(2, 1, 5), size=(5, 7)),
    replace(DEPTHWISE, name="relu", seed=48, activation="relu"),
    replace(DEPTHWISE, name="relu6", seed=49, activation="relu6", spread=10.0),
    replace(DEPTHWISE, name="saturates", seed=50, spread=3000.0),
    replace(DEPTHWISE, name="near_ties", seed=53, out_c=200, ties="near"),
    replace(DEPTHWISE, name="zero_points_low", seed=51, in_zero_point=-128, out_zero_point=-128),
    replace(DEPTHWISE, name="zero_points_high", seed=52, in_zero_point=127, out_zero_point=127),
    Dense("per_tensor", 60),
    Dense("per_channel", 61, per_channel=True),
    Dense("per_tensor_near_ties", 62, outputs=300, ties="near"),
    Dense("per_channel_near_ties", 63, outputs=300, per_channel=True, ties="near"),
    Dense("exact_ties", 64, outputs=300, per_channel=True, ties="exact"),
    Dense("relu", 76, activation="relu"),
    Dense("relu6", 77, activation="relu6", spread=10.0),
    Dense("length_1", 78, inputs=1, outputs=1),
    Dense("wide", 79, inputs=1031, outputs=7),
    Dense("saturates", 80, spread=3000.0),
    Dense("zero_points_low", 81, in_zero_point=-128, out_zero_point=-128),
    Dense("zero_points_high", 82, in_zero_point=127, out_zero_point=127),
    Dense("rows", 83, rows=5, per_channel=True),
    Dense("rows_length_1", 84, inputs=1, outputs=1, rows=3),
    Mean("plain", 90),
    Mean("odd_count", 91, hwc=(7, 3, 16)),
    Mean("power_of_two", 92, hwc=(8, 8, 16), ratio=0.9),
    Mean("same_scale", 93, ratio=1.0),
    Mean("same_parameters", 94, ratio=1.0, in_zero_point=9),
    Mean("length_1", 95, hwc=(1, 1, 1)),
    Mean("ratio_large", 96, ratio=37.0),
    Mean("ratio_small", 97, ratio=0.01),
    Mean("saturates", 98, ratio=400.0),
    Mean("zero_points_low", 99, in_zero_point=-128, out_zero_point=-128),
    Mean("zero_points_high", 100, in_zero_point=127, out_zero_point=127),
    Mean("big", 101, hwc=(32, 31, 5), ratio=1.3),
    *(
        Mean(f"axes_{name}_{keep:d}{same:d}", 102, shape, axes, keep, *([1.0, -20, -20] * same))
        for keep in (False, True)
        for same in (False, True)
        for name, shape, axes in (
            ("both", (7, 5, 6), (1, 2)),
            ("backwards", (7, 5, 6), (2, 1)),
            ("height", (7, 5, 6), (1,)),
            ("width", (7, 5, 6), (2,)),
            ("channels", (7, 5, 6), (3,)),
            ("all", (7, 5, 6), (1, 2, 3)),
            ("time", (11, 6), (1,)),
            ("vector", (13,), (1,)),
        )
    ),
    *(
        case
        for kernel in ("average_pool_s8", "max_pool_s8")
        for case in (
            Pool(kernel, "plain", 110),
            Pool(kernel, "same", 111, padding="same"),
            Pool(kernel, "stride", 112, stride=(2, 3)),
            Pool(kernel, "same_stride", 113, in_hwc=(8, 9, 3), stride=(3, 2), padding="same"),
            Pool(kernel, "window_above_input", 114, (2, 3, 3), size=(5, 7), padding="same"),
            Pool(kernel, "stride_above_window", 115, size=(2, 1), stride=(3, 4)),
            Pool(kernel, "global", 116, (5, 4, 9), size=(5, 4)),
            Pool(kernel, "length_1", 117, (1, 1, 1), size=(1, 1)),
            Pool(kernel, "even_count", 118, (16, 16, 8), size=(2, 2), stride=(2, 2)),
            Pool(kernel, "relu", 119, activation="relu"),
            Pool(kernel, "relu6", 120, activation="relu6", zero_point=-60),
            Pool(kernel, "zero_point_low", 121, activation="relu6", zero_point=-128),
            Pool(kernel, "zero_point_high", 122, activation="relu", zero_point=127),
        )
    ),
    ReduceMax("reduce_max", 130),
    ReduceMax("reduce_max_height", 131, axes=(1,)),
    ReduceMax("reduce_max_width", 132, axes=(2,), zero_point=-128),
    ReduceMax("reduce_max_length_1", 133, in_hwc=(1, 1, 1), zero_point=127),
    *(
        case
        for kernel in ("add_s8", "sub_s8", "mul_s8")
        for case in (
            Binary(kernel, "every_pair", 140),
            Binary(kernel, "ties", 141, scales=(0.125, 0.03125, 0.25)),
            Binary(kernel, "saturates", 142, scales=(0.5, 0.3, 0.002)),
            Binary(kernel, "vanishes", 143, scales=(0.001, 0.002, 0.9)),
            Binary(kernel, "scales_apart", 144, scales=(1.7, 1e-7, 0.01)),
            Binary(kernel, "zero_points_low", 145, zero_points=(-128, -128, -128)),
            Binary(kernel, "zero_points_high", 146, zero_points=(127, 127, 127)),
            Binary(kernel, "zero_points_apart", 147, zero_points=(-128, 127, -128)),
            Binary(kernel, "relu", 148, activation="relu"),
            Binary(kernel, "relu6", 149, activation="relu6", zero_points=(0, 0, -100)),
            Binary(kernel, "relu_n1_to_1", 157, activation="relu_n1_to_1", zero_points=(0, 0, 9)),
            Binary(
                kernel,
                "relu_n1_to_1_ties",
                158,
                None,
                (),
                (0.3, 0.2, 0.4),
                (0, 0, 3),
                "relu_n1_to_1",
            ),
            Binary(kernel, "same_shape", 150, (1, 5, 3, 7), (1, 5, 3, 7)),
            Binary(kernel, "channels", 151, (1, 5, 3, 7), (1, 1, 1, 7)),
            Binary(kernel, "channels_only", 152, (1, 5, 3, 7), (7,)),
            Binary(kernel, "scalar", 153, (1, 5, 3, 7), ()),
            Binary(kernel, "channels_first", 154, (1, 1, 1, 7), (1, 5, 3, 7)),
            Binary(kernel, "scalar_first", 155, (1, 1, 1, 1), (1, 5, 3, 7)),
            Binary(kernel, "length_1", 156, (1, 1), (1, 1)),
        )
    ),
    Softmax("plain", 160),
    Softmax("positions", 161, classes=3, positions=35),
    Softmax("length_1", 162, classes=1),
    Softmax("two", 163, classes=2, scale=0.02),
    Softmax("many", 164, classes=501, scale=0.03),
    Softmax("flat", 165, scale=1e-6),
    Softmax("sharp", 166, scale=3.1),
    Softmax("sharpest", 167, scale=100.0),
    Softmax("beta", 168, beta=0.37),
    Softmax("zero_point_low", 169, zero_point=-128, beta=2.0),
    Softmax("zero_point_high", 170, zero_point=127, classes=17),
    *(
        case
        for code in ("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "RELU", "RELU6", "QUANTIZE")
        for case in (
            *(Table(code, str(seed), seed) for seed in range(300, 320)),
            Table(code, "ties", 320, scales=(0.0625, 0.125)),
            Table(code, "same_scale", 321, scales=(0.11, 0.11)),
            Table(code, "saturates", 322, scales=(0.9, 0.009)),
            Table(code, "vanishes", 323, scales=(0.0002, 0.9)),
            Table(code, "zero_points_low", 324, zero_points=(-128, -128)),
            Table(code, "zero_points_high", 325, zero_points=(127, 127)),
            Table(code, "zero_points_apart", 326, zero_points=(-128, 127)),
        )
    ),
    Table("LEAKY_RELU", "steep", 327, alpha=1.7),
    Table("LEAKY_RELU", "no_slope", 328, alpha=0.0),
    Table("LEAKY_RELU", "negative_slope", 331, alpha=-0.4),
    Table("TANH", "odd_length", 329, length=37),
    Table("TANH", "length_1", 330, length=1),
    Copy("transpose", 340, (5, 4, 3), Transpose((2, 0, 1))),
    Copy("transpose_space", 341, (5, 4, 3), Transpose((1, 0, 2))),
    Copy("transpose_last", 342, (5, 4, 3), Transpose((0, 2, 1)), zero_point=-128),
    Copy("transpose_nothing", 343, (5, 4, 3), Transpose((0, 1, 2)), zero_point=127),
    Copy("transpose_four", 344, (3, 2, 5, 4), Transpose((3, 1, 0, 2))),
    Copy("transpose_length_1", 345, (1, 1, 1), Transpose((2, 1, 0))),
    Copy("slice_channels", 346, (5, 4, 7), Slice((0, 0, 2), (5, 4, 5), (1, 1, 1))),
    Copy("slice_steps", 347, (5, 4, 7), Slice((1, 0, 1), (5, 4, 7), (2, 3, 2))),
    Copy("slice_backwards", 348, (5, 4, 7), Slice((4, 3, 6), (0, -1, -1), (-1, -2, -1))),
    Copy("slice_rows", 349, (5, 4, 7), Slice((1, 0, 0), (4, 4, 7), (1, 1, 1))),
    Copy("slice_length_1", 350, (5, 4, 7), Slice((4, 3, 6), (5, 4, 7), (1, 1, 1))),
    Copy("split_first", 351, (5, 4, 6), Split(2, 3, 0)),
    Copy("split_last", 352, (5, 4, 6), Split(2, 3, 2)),
    Copy("split_rows", 353, (6, 3, 5), Split(0, 2, 1)),
    Copy("split_length_1", 354, (3,), Split(0, 3, 1)),
    Concatenation("plain", 355, [(5, 3, 2), (5, 3, 7), (5, 3, 1)], 2),
    Concatenation("rows", 356, [(1, 3, 2), (4, 3, 2)], 0),
    Concatenation("columns", 357, [(3, 1, 5), (3, 2, 5)], 1),
    Concatenation("length_1", 358, [(1,), (1,)], 0, zero_point=127),
    Concatenation("one", 359, [(3, 2, 5)], 1, zero_point=-128),
    Copy("broadcast_channels", 380, (5, 4, 1), Broadcast((5, 4, 7))),
    Copy("broadcast_rows", 381, (1, 4, 3), Broadcast((5, 4, 3))),
    Copy("broadcast_columns", 382, (5, 1, 3), Broadcast((5, 4, 3)), zero_point=-128),
    Copy("broadcast_length_1", 383, (1, 1, 1), Broadcast((1, 3, 1)), zero_point=127),
    *(
        case
        for kernel in ("quantize_f32_s8", "dequantize_s8_f32")
        for case in (
            Float(kernel, "plain"),
            Float(kernel, "ties", scale=0.25),
            Float(kernel, "coarse", scale=311.7, zero_point=-3),
            Float(kernel, "fine", scale=1e-6),
            Float(kernel, "zero_point_low", zero_point=-128),
            Float(kernel, "zero_point_high", zero_point=127),
            Float(kernel, "length_1", length=1),
            Float(kernel, "odd_length", length=37),
        )
    ),
    Pad("space", 360, (4, 3, 5), ((1, 2), (0, 3), (0, 0))),
    Pad("channels", 361, (4, 3, 5), ((0, 0), (0, 0), (2, 1))),
    Pad("all", 362, (4, 3, 5), ((1, 0), (2, 2), (0, 3)), zero_point=-128),
    Pad("nothing", 363, (4, 3, 5), ((0, 0), (0, 0), (0, 0))),
    Pad("length_1", 364, (1, 1, 1), ((2, 1), (0, 1), (1, 0)), zero_point=127),
    Pad("vector", 365, (7,), ((3, 2),)),
    *(
        ResizeNearest(f"{name}_{align:d}{half:d}", 370, in_hwc, out_hw, align, half)
        for align in (False, True)
        for half in (False, True)
        for name, in_hwc, out_hw in (
            ("twice", (5, 4, 3), (10, 8)),
            ("odd", (7, 3, 5), (11, 10)),
            ("down", (9, 8, 2), (4, 3)),
            ("from_1", (1, 1, 1), (3, 2)),
            ("to_1", (6, 5, 3), (1, 1)),
            ("wide", (3, 37, 1), (2, 97)),
        )
    ),
]

# Maps as they are fitted, no slope negative: test_maps.py shows that their U rises.
RISING = [
    Map(f"rising_{name}_{of}", seed, parameters, rising=of)
    for name, seed, parameters in (
        ("no_gate", 282, _gated(0, 65536)),
        ("gate", 283, _gated(-30000, 41000, (52000, 20000))),
        ("gates", 284, _gated(-9000, 4100, (5200, 0), (900, -70000))),
        (
            "class_gated",
            289,
            _class_gated(
                *(-30000, 25000, 15000, (23000, 20000, 109000), (55000, -9000, 218000)),
                offsets=((1000, 9000), (-3000, 0), (0, 20000)),
            ),
        ),
        ("logistic", 285, MapLogistic(-300000, 5200, 141000)),
        ("logistic_s", 286, MapLogistic(-300000, 9000, 0)),
        ("isotonic", 287, _isotonic(3000, 32, 287)),
        ("percentile", 288, _isotonic(65536, 32, 288)),
    )
    for of in ("surprise", "confidence", "both")
]

C_CASES: list[Case] = [
    *ORACLE_CASES,
    replace(CONV, name="shift_limits", seed=200, shifts=(-31, 30, 0, -30, 29, 1)),
    replace(CONV, name="pointwise_shift_limits", seed=201, size=(1, 1), shifts=(30, -31, 0, 5)),
    replace(DEPTHWISE, name="shift_limits", seed=202, shifts=(-31, 30, 0, -30, 29)),
    Dense("shift_limits", 203, shifts=(-31, 30, 0, -30, 29, 1)),
    Softmax("most", 206, classes=4095, scale=0.01),
    *(
        ConvAdd(conv.name, conv, add)
        for conv, add in zip(
            (
                CONV,
                replace(CONV, name="pointwise", seed=15, size=(1, 1), in_hwc=(5, 3, 9), out_c=11),
                replace(CONV, name="stride", seed=11, stride=(2, 3), out_c=1),
                replace(CONV, name="saturates", seed=12, spread=4000.0),
            ),
            (
                Binary("add_s8", "plain", 1, (1,), (1,)),
                Binary("add_s8", "relu", 2, (1,), (1,), activation="relu"),
                Binary("add_s8", "ends", 3, (1,), (1,), zero_points=(-128, 127, -128)),
                Binary("add_s8", "steep", 4, (1,), (1,), scales=(0.5, 0.001, 0.6)),
            ),
            strict=True,
        )
    ),
    *(
        Move(f"{start}_{length}_{to}", 207, start, length, to)
        for length in (0, 1, 3, 4, 5, 64, 67)
        for start, to in ((0, 8), (8, 0), (3, 4), (4, 3), (2, 2), (0, 100))
    ),
    Mean("shift_min", 204, multiplier=Multiplier(2**31 - 1, -31)),
    Mean("shift_max", 205, multiplier=Multiplier(2**31 - 1, 30)),
    *(
        Requantize(f"{mantissa}_{shift}", 210, mantissa, shift)
        for mantissa in (0, 1, 2**30, 1_234_567_891, 2**31 - 1)
        for shift in (-31, -30, -7, -1, 0, 1, 8, 30)
    ),
    Float("quantize_f32_s8", "strange", strange=True),
    Float("quantize_f32_s8", "strange_fine", scale=1e-30, strange=True),
    PoolSum("plain", 220),
    PoolSum("length_1", 221, positions=1, channels=1),
    PoolSum("odd_channels", 222, channels=7),
    PoolSum("few_channels", 223, channels=3),
    PoolSum("one_block", 224, positions=256, channels=5),
    PoolSum("block_and_one", 225, positions=257, channels=5),
    PoolSum("blocks", 226, positions=1000, channels=9),
    PoolSum("largest", 227, positions=700, value=127, zero_point=-128),
    PoolSum("smallest", 228, positions=700, value=-128, zero_point=127),
    *(
        replace(case, kernel="pool_moments_s8")
        for case in (
            PoolSum("plain", 229),
            PoolSum("length_1", 221, positions=1, channels=1),
            PoolSum("odd_channels", 222, channels=7),
            PoolSum("blocks", 226, positions=1000, channels=9),
            PoolSum("constant", 227, positions=700, value=127, zero_point=-128),
            PoolSum("halves", 228, positions=700, halves=True, zero_point=127),
            PoolSum("many", 219, positions=40_000, channels=1, halves=True, zero_point=-128),
        )
    ),
    Residual("folded", 230),
    Residual("projected", 231, rank=8),
    Residual("length_1", 232, in_channels=1, channels=1),
    Residual("rank_1", 233, in_channels=3, channels=5, rank=1),
    Residual("odd", 234, in_channels=13, channels=31, rank=7),
    Residual(
        "largest", 235, in_channels=256, channels=64, rank=256, reach=0.1, offset_limit=1 << 14
    ),
    Residual("saturates", 236, reach=1e7, rank=8, xi_scale=0.1),
    Residual("before_saturates", 249, reach=1e7, after_reach=1.0),
    Residual("inputs_saturate", 250, reach=1e4, after_reach=1.0, rank=8),
    Residual("many_positions", 251, std_sum=5e6, rank=8),
    Residual("right_shifts", 252, std_sum=1e8, channels=7, components=2),
    Residual("shifts_0", 253, in_channels=6, rank=3, shifts=(-1, 0, -1)),
    Residual("left_shifts", 254, in_channels=5, rank=2, shifts=(-2, 4, -22), xi_zero_point=-30),
    Residual("small_multipliers", 255, rank=4, shifts=(-23, -30, -22)),
    Residual("large_latent", 257, in_channels=6, rank=3, shifts=(0, -2, -13)),
    Residual("mean_overflows", 256, rank=16, shifts=(-6, 10, -13)),
    Residual("residual_limit", 241, reach=1000.0, xi_zero_point=-128),
    Residual("offsets", 237, offset_limit=INT32.max, reach=1e6, xi_zero_point=-128),
    Residual("quiet", 238, reach=0.01, offset_limit=100),
    Residual("xi_low", 239, xi_zero_point=-128),
    Residual("xi_high", 240, xi_zero_point=127),
    Residual("mixture", 242, components=3),
    Residual("mixture_odd", 243, in_channels=13, channels=7, rank=5, components=2),
    Residual("classes", 244, classes=10),
    Residual("classes_mixture", 245, classes=3, components=4, rank=8),
    Residual("classes_length_1", 246, in_channels=1, channels=1, classes=2),
    Residual("classes_saturate", 247, classes=3, class_shift=30),
    *(
        case
        for kernel, seed in (
            ("energy_gaussian_q16", 400),
            ("energy_student_t_q16", 410),
            ("energy_huber_q16", 420),
            ("energy_lowrank_f32", 430),
            ("energy_mixture_q16", 440),
        )
        for case in (
            EnergyOf(kernel, "plain", seed),
            EnergyOf(kernel, "length_1", seed + 1, channels=1),
            EnergyOf(kernel, "odd", seed + 2, channels=31),
            EnergyOf(kernel, "small", seed + 3, reach=0.05),
            EnergyOf(kernel, "large", seed + 4, reach=300.0),
            EnergyOf(kernel, "largest", seed + 5, channels=2048, reach=100.0),
        )
    ),
    EnergyOf("energy_student_t_q16", "nu_3", 450, nu=3.0),
    EnergyOf("energy_student_t_q16", "nu_30", 451, nu=30.0, reach=2000.0),
    EnergyOf("energy_huber_q16", "narrow", 452, delta=0.1),
    EnergyOf("energy_huber_q16", "wide", 453, delta=10.0, reach=8.0),
    EnergyOf("energy_lowrank_f32", "k_1", 454, factors=1),
    EnergyOf("energy_lowrank_f32", "k_8", 455, factors=8, channels=64),
    EnergyOf("energy_lowrank_f32", "k_16", 456, factors=16, channels=9),
    EnergyOf("energy_lowrank_f32", "no_factor", 457, factor_reach=0.0),
    EnergyOf("energy_lowrank_f32", "ill_conditioned", 458, factor_reach=1000.0),
    EnergyOf("energy_mixture_q16", "k_1", 459, components=1),
    EnergyOf("energy_mixture_q16", "k_3", 460, components=3),
    EnergyOf("energy_mixture_q16", "k_4", 461, components=4, channels=5),
    EnergyOf("energy_mixture_q16", "k_8", 462, components=8, channels=7),
    EnergyOf("energy_mixture_q16", "alike", 463, components=4, reach=0.1, logit_shift=-25),
    EnergyOf("energy_mixture_q16", "one_sided", 464, logit_shift=8),
    Exp("all", 470),
    Mahalanobis("plain", 242),
    Mahalanobis("low_rank", 243, channels=31, rank=7),
    Mahalanobis("length_1", 244, channels=1, rank=1, classes=2),
    Mahalanobis("many_channels", 245, channels=1280, rank=16, classes=3, reach=0.2),
    Mahalanobis("saturates", 246, reach=1e7),
    Mahalanobis("row_limit", 247, channels=516, rank=5, reach=1e7, full=True),
    Mahalanobis("quiet", 248, reach=0.01),
    Mahalanobis("reachable", 249, channels=64, rank=64, edges=False),
    Mahalanobis("reachable_odd", 250, channels=31, rank=7, classes=3, edges=False),
    Mahalanobis("reachable_length_1", 251, channels=1, rank=1, classes=2, edges=False),
    Mahalanobis("far", 252, channels=18, rank=17, reach=1000.0, edges=False),
    Mahalanobis("far_centres", 253, channels=64, rank=64, centre_limit=32767, edges=False),
    Mahalanobis("reachable_row_limit", 254, channels=516, rank=5, full=True, edges=False),
    Score("plain", 250),
    Score("length_1", 251, taps=1),
    Score("largest", 252, taps=7, top=INT32.max),
    Ln("plain", 260),
    Sigmoid("plain", 261),
    Logits("plain", 262),
    Logits("three", 263, classes=3),
    Logits("two", 264, classes=2, alpha_q16=0),
    Logits("many", 265, classes=200, alpha_q16=65536),
    Logits("flat", 266, step=1e-6),
    Logits("sharp", 267, step=5.0),
    Clip("all", -128),
    Clip("middle", 3),
    Clip("nothing", 127),
    Ash("plain", 490, 64, 6),
    Ash("ties", 491, 64, 6, values=3),
    Ash("equal", 492, 33, 5, values=1),
    Ash("length_1", 493, 1, 1, batch=1),
    Ash("in_place", 494, 256, 26, batch=1),
    Ash("all_kept", 495, 17, 17),
    Ash("negative_sum", 496, 40, 4, zero_point=100),
    Ash("saturates", 497, 100, 1),
    Entropy("plain", 500, 10),
    Entropy("two", 501, 2),
    Entropy("many", 502, 300),
    Average("three", 510, 3),
    Average("one", 511, 1),
    Average("many", 512, 1000, classes=2),
    Probability("plain", 480, 10, 0.11),
    Probability("one", 481, 1, 0.2),
    Probability("many", 482, 300, 1e-3),
    Probability("sharp", 483, 12, 5.0),
    Map("plain", 270, _gated(-30000, 41000, (52000, 20000))),
    Map("no_gate", 280, _gated(0, 65536)),
    Map("three_gates", 281, _gated(-90000, 41000, (52000, 20000), (9000, -70000), (300000, 0))),
    Map("extreme", 271, _gated(INT32.max, INT32.min, *[(INT32.max, INT32.min)] * 6)),
    Map("extreme_other", 272, _gated(INT32.min, INT32.max, *[(INT32.min, INT32.max)] * 6)),
    Map(
        "plain",
        290,
        _class_gated(
            *(-30000, 25000, 15000, (23000, 20000, 109000), (55000, -9000, 218000)),
            offsets=((1000, 9000), (-3000, -14000), (0, 20000)),
        ),
    ),
    Map(
        "evidence",
        296,
        _class_gated(
            *(-30000, 25000, 15000, (23000, 20000, 109000), (55000, -9000, 218000)),
            offsets=((1000, 9000), (-3000, -14000), (0, 20000)),
            also=(40000, 90000),
        ),
    ),
    Map("no_taps", 297, _class_gated(0, 40000, 9000, offsets=((5, 0), (-9, 1)), also=(9, -7))),
    Map("no_inputs", 298, _class_gated(0, 40000, 9000, offsets=((5000, 0), (-9000, 100)))),
    HiddenLayer("plain", 295),
    HiddenLayer("one_unit", 299, units=1, inputs=1, classes=2),
    HiddenLayer("largest", 300, units=64, inputs=8, top=2**31 - 1),
    Map("one_class", 291, _class_gated(0, 65536, 0, (900, 0, 65536), offsets=((0, 0),))),
    Map(
        "negative",
        292,
        _class_gated(-9000, -41000, -15000, (-52000, 0, -70000), offsets=((-9, 9), (9, -9))),
    ),
    Map(
        "extreme",
        293,
        _class_gated(
            *(INT32.max, INT32.min, INT32.min),
            *[(INT32.max, INT32.min, INT32.max)] * 5,
            offsets=((INT32.max, INT32.min), (INT32.min, INT32.max)),
            also=(INT32.min, INT32.max),
        ),
    ),
    Map(
        "extreme_other",
        294,
        _class_gated(
            *(INT32.min, INT32.max, INT32.max),
            *[(INT32.min, INT32.min, INT32.min)] * 5,
            offsets=((INT32.max, INT32.min), (INT32.min, INT32.max)),
            also=(INT32.min, INT32.max),
        ),
    ),
    Map("plain", 273, MapLogistic(-300000, 5200, 141000)),
    Map("extreme", 274, MapLogistic(INT32.max, INT32.min, INT32.max)),
    Map("extreme_other", 275, MapLogistic(INT32.min, INT32.max, INT32.min)),
    Map("plain", 276, _isotonic(30000, 12, 276)),
    Map("no_step", 277, _isotonic(30000, 0, 277)),
    Map("only_score", 278, _isotonic(65536, 32, 278)),
    Map("only_doubt", 279, _isotonic(0, 32, 279)),
    Control("plain", 400, budget_of(0.1, 0.05, 0.01, 30000)),
    Control("slow", 401, budget_of(0.1, 1e-5, 1e-5, 30000)),
    Control("fast", 402, budget_of(0.1, 1.0, 1.0, 30000)),
    Control("budget_0", 403, budget_of(0.0, 0.3, 0.2, 0)),
    Control("budget_1", 404, budget_of(1.0, 0.3, 0.2, 65537)),
    Control("fast_budget_0", 405, budget_of(0.0, 1.0, 1.0, 65536)),
    Control("fast_budget_1", 406, budget_of(1.0, 1.0, 1.0, 0)),
    Control("ties", 407, Budget(1 << 23, 1 << 23, 1, 1 << 23)),
    Control("length_1", 408, budget_of(0.2, 0.1, 0.1, 100), length=1),
    Watch("none", 420, ALARM_NONE),
    Watch("sum", 421, ALARM_SUM),
    Watch("sum_baseline", 422, ALARM_SUM, baseline=100),
    Watch("sum_sure_baseline", 423, ALARM_SUM, baseline=100, confidence_q16=3 << 16),
    Watch("blind_baseline", 424, ALARM_SUM, baseline=50, limit_q16=-(1 << 16)),
    Watch("one_frame_of_baseline", 425, ALARM_SUM, baseline=1, confidence_q16=16 << 16),
    Watch("mean", 426, ALARM_MEAN),
    Watch("mean_baseline", 427, ALARM_MEAN, baseline=200),
    Watch("window", 428, ALARM_WINDOW),
    Watch("window_baseline", 429, ALARM_WINDOW, baseline=64),
    Watch("largest_gains", 430, ALARM_MEAN, baseline=30, largest_q16=16 << 16),
    Watch("largest_gains_of_a_window", 431, ALARM_WINDOW, largest_q16=16 << 16),
    Watch("blind_baseline_of_a_window", 433, ALARM_WINDOW, baseline=50, limit_q16=-(1 << 16)),
    Keep("none", 440, 0),
    Keep("one", 441, 1),
    Keep("seven", 442, 7),
    Watch("length_1", 432, ALARM_SUM, baseline=65535, length=1),
    Records("plain", 440, each=100, length=350),
    Records("without_alarm", 441, each=100, length=300, has_alarm=False),
    Records("full", 442, each=70000, length=65540),
    Records("one_frame_each", 443, each=1, length=9, top=0),
    Records("length_1", 444, each=5, length=1),
    *RISING,
]
