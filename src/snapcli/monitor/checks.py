"""Whether heads, decision and network fit each other, before C is made of them.

A kernel on the device trusts its parameters (SPEC 1.3 to 1.8): one size that is wrong is a read
beyond an array. So what comes from a file is checked here; all raise ValueError.
"""

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.config import HIDDEN_MAX, MAX_TAPS, MEAN, MEAN_DEVIATION, NO_THIRD, THIRD_INPUTS
from snapcli.fixedpoint.requantize import INT32_MAX, INT32_MIN, SHIFT_MAX, SHIFT_MIN
from snapcli.heads.mixture import COMPONENTS_MAX
from snapcli.monitor.body import Body
from snapcli.monitor.decision import ONE_Q16, Decision, DeviceMap, Gated
from snapcli.score.maps import MAX_BREAKPOINTS, OWN, SCORE, THIRD, tap_input
from snapcli.stored import check_sizes, check_values

RANK_MAX = 64
# So that the ends of int8 less it stay within int32; those that occur are far below.
_ZERO_POINT_LIMIT = 1 << 24
# What the entries of a row of a whitening may sum to, so that int16 inputs cannot overflow its
# accumulator.
ROW_LIMIT = 65535
_STEP_LIMIT_Q16 = 1 << 22


def check_body(body: Body) -> None:
    fx.check_between("taps", len(body.taps), 0, MAX_TAPS)
    if body.statistics not in (MEAN, MEAN_DEVIATION):
        raise ValueError(f"statistics is {body.statistics[:40]}")
    for tap in body.taps:
        for name in (tap.before, tap.after):
            _check_tensor(body, name, "tap")
    if len({tap.after for tap in body.taps}) < len(body.taps):
        raise ValueError("two taps predict the same tensor")
    for i, (tap, head) in enumerate(zip(body.taps, body.heads, strict=True)):
        sizes = body.pooled_length(tap.before), body.pooled_length(tap.after)
        _check_residual(f"head {i}", head.residual, *sizes, body.classes)
        head.energy.check(f"head {i}", head.residual)
    if body.distance:
        name = body.distance.tensor
        _check_tensor(body, name, "measure")
        _check_distance(body.distance.parameters, body.pooled_length(name), body.classes)


def _check_tensor(body: Body, name: str, purpose: str) -> None:
    tensor = body.graph.tensors.get(name)
    if tensor is None or tensor.dtype != "int8" or len(tensor.shape) < 1:
        raise ValueError(f"the network has no tensor {name[:40]} to {purpose}")


def check_decision(decision: Decision, body: Body) -> None:
    """Of one that came out of JSON, where it has no array of another type."""
    taps = len(body.taps)
    if len(decision.weight_q16) != taps or (taps and sum(decision.weight_q16) != ONE_Q16):
        raise ValueError(f"weight_q16 is not {taps} weights that sum to 1")
    fx.check_between("weight_q16", min(decision.weight_q16, default=0), 0, ONE_Q16)
    fx.check_between("alpha_q16", decision.alpha_q16, 0, ONE_Q16)
    fx.check_between("threshold_q16", decision.threshold_q16, 0, 2**32 - 1)
    logits = body.graph.tensors[body.logits_tensor]
    if not (decision.temperature > 0 and logits.scale / decision.temperature * ONE_Q16 >= 0):
        raise ValueError(f"temperature is {decision.temperature}")
    step_q16 = logits.scale / decision.temperature * ONE_Q16
    fx.check_between("logit step", step_q16, 0, _STEP_LIMIT_Q16)
    if decision.third not in THIRD_INPUTS:
        raise ValueError(f"third is {decision.third[:40]}")
    if decision.reads_distance and body.distance is None:
        raise ValueError("the map reads a distance that the heads do not hold")
    fx.check_between("foreign_threshold_q16", decision.foreign_threshold_q16, 0, 2**32 - 1)
    if decision.controller:
        for name, value in vars(decision.controller).items():
            fx.check_between(name, value, 0, 1 << 24)
    known = {OWN, *([SCORE] if taps else []), *(tap_input(i) for i in range(taps))}
    _check_map(decision.foreign, known, taps, body.classes)
    known |= {THIRD} if decision.third != NO_THIRD else set()
    _check_map(decision.map, known, taps, body.classes)


def _check_map(device_map: DeviceMap, known: set[str], taps: int, classes: int) -> None:
    """known: what a gate may read."""
    match device_map:
        case Gated(parameters, inputs):
            if not set(inputs) <= known or len(set(inputs)) < len(inputs):
                raise ValueError(f"the map reads {', '.join(inputs)[:80]}")
            for name in ("slope_q16", "theta_q16"):
                check_sizes(name, getattr(parameters, name), (len(inputs),))
            _int32(b0_q16=parameters.b0_q16, b2_q16=parameters.b2_q16)
        case fx.MapClassGated() as found:
            for name in ("slope_q16", "theta_q16", "inverse_cap_q16"):
                check_sizes(name, getattr(found, name), (taps,))
            check_sizes("also_q16", found.also_q16, (2 if len(found.also_q16) else 0,))
            if found.hidden:
                _check_hidden(found.hidden, 1 + taps + len(found.also_q16), classes)
            for name in ("offset_q16", "strange_offset_q16"):
                check_sizes(name, getattr(found, name), (classes,))
            _int32(b0_q16=found.b0_q16, b2_q16=found.b2_q16, familiar_q16=found.familiar_q16)
        case fx.MapLogistic():
            _int32(**vars(device_map))
        case fx.MapIsotonic(gamma, breakpoints, values):
            fx.check_between("gamma_q16", gamma, 0, ONE_Q16)
            fx.check_between("breakpoints", len(breakpoints), 0, MAX_BREAKPOINTS)
            check_sizes("value_q16", values, (len(breakpoints) + 1,))
            check_values("value_q16", values, 0, ONE_Q16)
            for name, steps in (("breakpoint_q16", breakpoints), ("value_q16", values)):
                if (np.diff(steps.astype(np.int64)) < 0).any():
                    raise ValueError(f"{name} descends")


def _check_hidden(layer: fx.Hidden, inputs: int, classes: int) -> None:
    units = len(layer.out_q16)
    fx.check_between("hidden units", units, 1, HIDDEN_MAX)
    check_sizes("hidden.weight_q16", layer.weight_q16, (units, inputs))
    check_sizes("hidden.bias_q16", layer.bias_q16, (units, classes))


def _int32(**values: int) -> None:
    for name, value in values.items():
        fx.check_between(name, value, INT32_MIN, INT32_MAX)


def _check_residual(
    name: str, head: fx.HeadS8, in_channels: int, channels: int, classes: int
) -> None:
    for what, actual, expected, limit in (
        ("inputs", head.in_channels, in_channels, fx.INPUTS_MAX),
        ("channels", head.channels, channels, fx.CHANNELS_MAX),
    ):
        if actual != expected or actual > limit:
            raise ValueError(f"{name} has {actual} {what}, its tap {expected}")
    fx.check_between(f"{name}.components", head.components, 1, COMPONENTS_MAX)
    fx.check_between(f"{name}.rank", head.rank, 0, fx.INPUTS_MAX)
    _check_standardize(f"{name}.before", head.before, in_channels, in_channels)
    _check_standardize(f"{name}.after", head.after, channels, head.rows)
    fx.check_weights(f"{name}.projector", head.projector, (head.rank, in_channels))
    fx.check_weights(f"{name}.mean_weights", head.mean_weights, (head.rows, head.inputs))
    fx.check_weights(f"{name}.xi_weights", head.xi_weights, (head.rows, head.inputs))
    fx.check_bias(f"{name}.xi_bias", head.xi_bias, head.rows)
    rows = classes if len(head.class_mean) else 0
    fx.check_weights(f"{name}.class_mean", head.class_mean, (rows, channels))
    check_sizes(f"{name}.inverse_sigma_q9", head.inverse_sigma_q9, (256,))
    farthest = _ZERO_POINT_LIMIT
    fx.check_between(f"{name}.xi_zero_point", head.xi_zero_point, -farthest, farthest)
    for part in ("latent", "mean", "xi", "class_scale"):
        fx.check_multiplier(f"{name}.{part}", getattr(head, part))


def _check_distance(distance: fx.MahalanobisS8, channels: int, classes: int) -> None:
    if distance.channels != channels:
        raise ValueError(f"the distance has {distance.channels} channels, its tap {channels}")
    fx.check_between("distance.rank", distance.rank, 1, min(RANK_MAX, channels))
    if distance.classes != classes:
        raise ValueError(f"the distance has {distance.classes} classes, the network {classes}")
    _check_standardize("distance.input", distance.input, channels, channels)
    check_sizes("distance.whitening", distance.whitening, (distance.rank, channels))
    sums = np.abs(distance.whitening.astype(np.int64)).sum(axis=1)
    check_values("a row of distance.whitening", sums, 0, ROW_LIMIT)
    check_sizes("distance.mantissa", distance.mantissa, (distance.rank,))
    check_values("distance.mantissa", distance.mantissa, 0)
    fx.check_between("distance.shift", distance.shift, SHIFT_MIN, SHIFT_MAX)
    check_sizes("distance.centre", distance.centre, (distance.classes, distance.rank))


def _check_standardize(name: str, part: fx.Standardize, channels: int, offsets: int) -> None:
    check_sizes(f"{name}.mantissa", part.mantissa, (channels,))
    check_values(f"{name}.mantissa", part.mantissa, 0)
    check_sizes(f"{name}.offset", part.offset, (offsets,))
    fx.check_between(f"{name}.shift", part.shift, SHIFT_MIN, SHIFT_MAX)
