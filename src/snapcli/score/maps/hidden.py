"""A small hidden layer on top of the evidence map: what its inputs say together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.score.maps.features import Features
from snapcli.score.maps.regression import sigmoid

# What the losses weigh against the ridge on all weights.
_LOSS_WEIGHT = 0.03
_SEED = 13


@dataclass(frozen=True)
class HiddenUnit:
    """out max(0, weight x + bias[answer]); x [2 + taps + 1], as hidden_inputs() gives it."""

    out: float
    weight: tuple[float, ...]
    bias: tuple[float, ...]


def hidden_inputs(features: Features) -> Array:
    """[n, inputs]: the error logit, ln e of each tap, ln d_own, ln(d_own / d_next)."""
    own = features.log_own()
    return np.column_stack(
        [features.error_logit, features.log_surprisal(), own, own - features.log_next()]
    )


def added(units: tuple[HiddenUnit, ...], features: Features) -> Array:
    """What the layer adds to the logit of U, [n]."""
    if not units:
        return np.zeros(len(features.error_logit))
    x = hidden_inputs(features)
    weight = np.array([unit.weight for unit in units])
    bias = np.array([unit.bias for unit in units])
    inner = np.maximum(0.0, x @ weight.T + bias.T[features.answer])
    return np.asarray(inner @ np.array([unit.out for unit in units]))


def fit_hidden(
    features: Features, linear: Array, wrong: Bools, weight: Array, units: int, class_offsets: bool
) -> tuple[HiddenUnit, ...]:
    """linear [n]: the logit without the layer, which stays as it is; weight [n]: of each input.
    Without class_offsets all answers share a bias."""
    from scipy.optimize import minimize

    if not 0 < wrong.sum() < len(wrong):
        return ()
    x = hidden_inputs(features)
    mean, scale = x.mean(axis=0), np.where(np.ptp(x, axis=0) > 0, x.std(axis=0), np.inf)
    x = (x - mean) / scale
    classes = features.classes if class_offsets else 1
    answer = features.answer if class_offsets else np.zeros_like(features.answer)
    shapes = ((units,), (units, x.shape[1]), (classes, units), (1,))
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])

    def parts(parameters: Array) -> list[Array]:
        pieces = np.split(parameters, ends[:-1])
        return [p.reshape(shape) for p, shape in zip(pieces, shapes, strict=True)]

    def loss(parameters: Array) -> tuple[float, Array]:
        out, w, bias, constant = parts(parameters)
        inner = x @ w.T + bias[answer]
        active = np.maximum(0.0, inner)
        t = linear + constant + active @ out
        losses = weight @ (np.logaddexp(0.0, t) - wrong * t)
        residual = _LOSS_WEIGHT * weight * (sigmoid(t) - wrong)
        back = residual[:, None] * out * (inner > 0)
        of_bias = np.stack([_sums(answer, back[:, h], classes) for h in range(units)], axis=-1)
        pull = [residual @ active, (back.T @ x).ravel(), of_bias.ravel(), [residual.sum()]]
        held = np.append(parameters[:-1], 0.0)
        return _LOSS_WEIGHT * losses + held @ held / 2, np.concatenate(pull) + held

    rng = np.random.default_rng(_SEED)
    start = np.append(rng.normal(0, 0.3, ends[-1] - 1), 0.0)
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    out, w, bias, _ = parts(fitted.x)
    w = w / scale
    bias = np.broadcast_to(bias - w @ mean, (features.classes, units))
    return tuple(
        HiddenUnit(float(out[h]), tuple(w[h].tolist()), tuple(bias[:, h].tolist()))
        for h in range(units)
    )


def _sums(answer: NDArray[np.int64], values: Array, classes: int) -> Array:
    return np.bincount(answer, values, classes).astype(np.float64)
