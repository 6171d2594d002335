"""A tiny random int8 classifier with two heads of any kind, made without TensorFlow.

conv "stem" -> depthwise "spatial" -> conv "block" -> mean -> fully connected "logits"; the
taps stem -> spatial and spatial -> block share a tensor. The first head keeps its projector,
that of the second is folded where that is smaller.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import MAHALANOBIS, MEAN, MEAN_DEVIATION, NO_THIRD, THIRD_INPUTS
from snapcli.graph.graph import Tensor
from snapcli.graph.reader import read_tflite
from snapcli.heads.gaussian import Gaussian
from snapcli.heads.head import Head
from snapcli.heads.huber import Huber
from snapcli.heads.likelihood import Likelihood
from snapcli.heads.lowrank import LowRank
from snapcli.heads.mixture import Mixture
from snapcli.heads.quantize import quantize_head
from snapcli.heads.student_t import StudentT
from snapcli.monitor.alarm import FieldAlarm
from snapcli.monitor.body import Body, ClassDistance, TapTensors
from snapcli.monitor.decision import ONE_Q16, Decision, DeviceMap, Gated
from snapcli.monitor.distance import quantize_mahalanobis
from snapcli.monitor.monitor import Monitor, trimmed
from snapcli.monitor.pooled import pooled_sums
from snapcli.score.mahalanobis import fit_mahalanobis
from snapcli.score.maps import OWN, SCORE, THIRD, tap_input

from ..golden import tflite_op as op

INPUT_SHAPE = (9, 8, 3)
OUTPUTS = {"stem": 0, "spatial": 1, "block": 2, "logits": 4}
TAPS = (TapTensors("stem", "spatial"), TapTensors("spatial", "block"))
RANKS = (2, 9)
CLASSES = 5
# By kind: a likelihood for d channels and a latent of rank r.
LIKELIHOODS: dict[str, Callable[[np.random.Generator, int, int], Likelihood]] = {
    "gaussian": lambda rng, d, r: Gaussian(),
    "student-t": lambda rng, d, r: StudentT(5.0),
    "huber": lambda rng, d, r: Huber(1.0),
    "lowrank": lambda rng, d, r: LowRank(rng.normal(0.0, 0.5, (d, 4))),
    "mixture": lambda rng, d, r: Mixture(rng.normal(0.0, 0.5, (3, r)), rng.normal(0.0, 0.5, 3)),
}
# Heads of a tiny monitor: a likelihood, or an option of the Gaussian's.
BY_CLASS, MOMENTS = "class-mean", MEAN_DEVIATION
HEADS = (*LIKELIHOODS, BY_CLASS, MOMENTS)


def gated_map(b0_q16: int, b2_q16: int, *gates: tuple[str, int, int]) -> Gated:
    """gates: (input, slope, theta) each."""
    slopes, thetas = (np.array([gate[k] for gate in gates], np.int32) for k in (1, 2))
    parameters = fx.MapGated(b0_q16, b2_q16, slopes, thetas)
    return Gated(parameters, tuple(name for name, _, _ in gates))


def class_gated_map(
    b0_q16: int,
    b2_q16: int,
    familiar_q16: int,
    *taps: tuple[int, int, int],
    tables: tuple[tuple[int, int], ...],
    also: tuple[int, ...] = (),
) -> fx.MapClassGated:
    """taps: (slope, theta, inverse cap) each; tables: the two offsets of each class; also: slopes
    of the two distances, for evidence."""
    gates, offsets = (np.array(rows, np.int32).T.copy() for rows in (taps, tables))
    return fx.MapClassGated(
        b0_q16, b2_q16, familiar_q16, *gates, np.array(also, np.int32), *offsets
    )


_SCORE_GATE = (SCORE, 90000, -5000)
# Parameters that send random inputs to many different U; energy and mahalanobis are gated maps
# with that third input.
MAPS: dict[str, DeviceMap] = {
    "temperature": gated_map(0, ONE_Q16),
    "gated": gated_map(-30000, 30000, _SCORE_GATE),
    "gated-taps": gated_map(
        -30000, 30000, (tap_input(0), 50000, -9000), (tap_input(1), 70000, -5000)
    ),
    "energy": gated_map(-30000, 30000, _SCORE_GATE, (THIRD, 20000, -100000)),
    "mahalanobis": gated_map(-30000, 30000, _SCORE_GATE, (THIRD, 60000, -30000)),
    "class-gated": class_gated_map(
        *(-30000, 30000, 20000, (50000, -9000, 100000), (70000, -5000, 130000)),
        tables=((5000, 20000), (-9000, -3000), (0, 0), (12000, -20000), (-7000, 40000)),
    ),
    "evidence": class_gated_map(
        *(-30000, 30000, 20000, (50000, -9000, 100000), (70000, -5000, 130000)),
        tables=((5000, 20000), (-9000, -3000), (0, 0), (12000, -20000), (-7000, 40000)),
        also=(30000, 80000),
    ),
    "hidden": replace(
        class_gated_map(
            *(-30000, 30000, 20000, (50000, -9000, 100000), (70000, -5000, 130000)),
            tables=((5000, 20000), (-9000, -3000), (0, 0), (12000, -20000), (-7000, 40000)),
            also=(30000, 80000),
        ),
        hidden=fx.Hidden(
            np.array([40000, -30000, 9000], np.int32),
            np.arange(-60000, 60000, 8000, np.int32).reshape(3, 5),
            np.arange(-30000, 30000, 4000, np.int32).reshape(3, 5),
        ),
    ),
    "logistic": fx.MapLogistic(-120000, 60000, 70000),
    "isotonic": fx.MapIsotonic(
        30000,
        np.array([40000, 52000, 60000, 66000], np.uint32),
        np.array([7, 9000, 21000, 40000, 65530], np.uint32),
    ),
}
# Maps that read distances, and F by whether there are any.
_MEASURED = (MAHALANOBIS, "evidence", "hidden")
FOREIGN_BY_DISTANCE = gated_map(-20000, 9000, (OWN, 50000, -700000))
FOREIGN = {
    False: gated_map(-40000, 8000, (SCORE, 40000, -786432)),
    True: gated_map(-40000, 8000, (SCORE, 40000, -786432), (OWN, 25000, -786432)),
}


def random_inputs(count: int, seed: int = 0) -> NDArray[np.int8]:
    """Each image has colours and a contrast of its own, else their pooled values look alike."""
    rng = np.random.default_rng(seed)
    colour = rng.uniform(-128, 128, (count, 1, 1, INPUT_SHAPE[2]))
    contrast = rng.uniform(0, 120, (count, 1, 1, 1))
    image = colour + contrast * rng.uniform(-1, 1, (count, *INPUT_SHAPE))
    return np.clip(np.rint(image), -128, 127).astype(np.int8)


@cache
def tiny_ops() -> tuple[op.OneOp, ...]:
    """Scales are such that outputs use most of their range and clip a little."""
    rng = np.random.default_rng(7)

    def weighted(
        source: op.Tensor, shape: tuple[int, ...], axis: int, zero_point: int, out: list[int]
    ) -> tuple[list[op.Tensor], op.Tensor]:
        channels = shape[axis]
        scales = rng.uniform(0.002, 0.006, channels).astype(np.float32)
        weights = rng.integers(-127, 128, shape).astype(np.int8)
        bias = rng.integers(-4000, 4000, channels).astype(np.int32)
        spread = 74 * 50 * np.sqrt(weights.size / channels)
        out_scale = float(source.scale[0] * scales.mean() * spread / 50)
        inputs = [
            source,
            op.Tensor(shape, scales, 0, axis, weights),
            op.Tensor([channels], source.scale[0] * scales, data=bias),
        ]
        return inputs, op.Tensor(out, [out_scale], zero_point)

    image = op.Tensor([1, *INPUT_SHAPE], [0.02], 5)
    one, two = (1, 1), (2, 2)
    stem = op.conv(*weighted(image, (6, 3, 3, 3), 0, -128, [1, 9, 8, 6]), "same", one, one, "relu")
    spatial = op.depthwise_conv(
        *weighted(stem.output, (1, 3, 3, 6), 3, -128, [1, 5, 4, 6]), "same", two, one, "relu6", 1
    )
    block = op.conv(
        *weighted(spatial.output, (9, 1, 1, 6), 0, -20, [1, 5, 4, 9]), "valid", one, one, "none"
    )
    pool = op.mean(block.output, op.Tensor([1, 9], [block.output.scale[0] / 2], -11))
    logits = op.fully_connected(*weighted(pool.output, (5, 9), 0, 3, [1, 5]), "none")
    return stem, spatial, block, pool, logits


@cache
def tiny_tflite() -> bytes:
    return op.flatbuffer(tiny_ops(), OUTPUTS)


def random_head(
    before: Tensor,
    after: Tensor,
    sums: dict[str, NDArray[np.int32]],
    rank: int,
    seed: int = 0,
    kind: str = "gaussian",
    classes: int = 0,
) -> Head:
    """Standardized by the pooled activations of sums; its other parameters are random."""
    rng = np.random.default_rng(seed)
    pooled = {t.name: sums[t.name] * (t.scale / t.positions) for t in (before, after)}
    c, d = pooled[before.name].shape[1], pooled[after.name].shape[1]
    likelihood = LIKELIHOODS[kind](np.random.default_rng(seed + 1), d, rank)
    rows = d * likelihood.components
    return Head(
        before=before.name,
        after=after.name,
        before_mean=pooled[before.name].mean(axis=0),
        before_deviation=pooled[before.name].std(axis=0) + 1e-2,
        after_mean=pooled[after.name].mean(axis=0),
        after_deviation=pooled[after.name].std(axis=0) + 1e-2,
        projector=rng.normal(0.0, c**-0.5, (rank, c)),
        mean_weights=rng.normal(0.0, 0.5 * rank**-0.5, (rows, rank)),
        mean_bias=rng.normal(0.0, 0.1, rows),
        xi_weights=rng.normal(0.0, 0.5 * rank**-0.5, (rows, rank)),
        xi_bias=rng.normal(0.5, 0.2, rows),
        class_mean=rng.normal(0.0, 1.0, (classes, d)),
        likelihood=likelihood,
    )


@cache
def tiny_body(head: str = "gaussian") -> Body:
    """head: one of HEADS."""
    graph = read_tflite(tiny_tflite())
    statistics = head if head == MOMENTS else MEAN
    names = {name for tap in TAPS for name in (tap.before, tap.after)}
    found = graph.run(random_inputs(200, seed=1), names)
    sums = {name: pooled_sums(graph.tensors[name], found[name], statistics) for name in names}
    kind = head if head in LIKELIHOODS else "gaussian"
    heads = []
    for tap, rank in zip(TAPS, RANKS, strict=True):
        before, after = graph.tensors[tap.before], graph.tensors[tap.after]
        classes = CLASSES if head == BY_CLASS else 0
        real = random_head(before, after, sums, rank, kind=kind, classes=classes)
        heads.append(quantize_head(real, before, after, sums[tap.before]))
    return Body(graph, TAPS, tuple(heads), statistics)


@cache
def body_with_distance(head: str = "gaussian") -> Body:
    """Its classes are those that the network itself sees."""
    body = tiny_body(head)
    x, tensor = random_inputs(200, seed=1), body.graph.tensors[TAPS[-1].after]
    sums = pooled_sums(tensor, body.graph.run(x, {tensor.name})[tensor.name], body.statistics)
    pooled = sums.astype(np.float64) * (tensor.scale / tensor.positions)
    fitted = fit_mahalanobis(pooled, body.run(x).predicted.astype(np.int64), CLASSES)
    return replace(body, distance=ClassDistance(tensor.name, quantize_mahalanobis(fitted, tensor)))


def tiny_monitor(kind: str = "gated", head: str = "gaussian") -> Monitor:
    """Abstains on about half of random inputs."""
    third = kind if kind in THIRD_INPUTS else NO_THIRD
    body = body_with_distance() if kind in _MEASURED else tiny_body(head)
    foreign = FOREIGN[kind in _MEASURED]
    decision = Decision((20000, ONE_Q16 - 20000), 1.7, 40000, MAPS[kind], 0, foreign, 0, third)
    return _half_refused(Monitor(body, decision))


def tiny_alarm(
    signal: str = "U", detector: int = fx.ALARM_SUM, baseline: int = 0, threshold_q16: int = 1 << 17
) -> FieldAlarm:
    """Bins of equal width; a middling value says nothing."""
    parameters = fx.Alarm(
        detector=detector,
        edge_q16=np.arange(1, 16, dtype=np.uint32) * 4096,
        gain_q16=(np.arange(16, dtype=np.int32) - 7) * 8192,
        threshold_q16=threshold_q16,
        clear_q16=0,
        start_q16=0,
        offset_q16=0,
        limit_q16=1 << 15,
        baseline=baseline,
        confidence_q16=0,
    )
    return FieldAlarm(signal, parameters)


def headless_monitor(kind: str = "evidence") -> Monitor:
    """kind: temperature, class-gated or evidence, without a head."""
    device_map, body = MAPS[kind], body_with_distance().without_taps()
    if isinstance(device_map, fx.MapClassGated):
        nothing = np.zeros(0, np.int32)
        device_map = replace(
            device_map, slope_q16=nothing, theta_q16=nothing, inverse_cap_q16=nothing
        )
    foreign = FOREIGN_BY_DISTANCE if kind == "evidence" else gated_map(0, ONE_Q16)
    decision = Decision((), 1.7, 40000, device_map, 0, foreign, 0)
    return _half_refused(Monitor(trimmed(body, decision), decision))


def _half_refused(monitor: Monitor) -> Monitor:
    """With thresholds at the medians of random inputs."""
    scores = monitor.run(random_inputs(200, seed=2))
    threshold, foreign = (int(np.median(q)) for q in (scores.uncertainty_q16, scores.foreign_q16))
    decision = replace(monitor.decision, threshold_q16=threshold, foreign_threshold_q16=foreign)
    return Monitor(monitor.body, decision)
