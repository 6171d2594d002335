"""From score and confidence to uncertainty U (SPEC 1.7) <-> snapuq_map_*_q16.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snapcli.fixedpoint.hidden import Hidden, hidden_q16
from snapcli.fixedpoint.score import ONE_Q16
from snapcli.fixedpoint.sigmoid import sigmoid_q16


@dataclass(frozen=True, eq=False)
class MapGated:
    """U = sigmoid(b0 + b2 error_logit + sum_j slope_j max(0, x_j - theta_j)); int32, Q16.

    slope, theta: int32 [gates], one per input x_j.
    """

    b0_q16: int
    b2_q16: int
    slope_q16: NDArray[np.int32]
    theta_q16: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MapClassGated:
    """U = sigmoid(b0 + b2 l + familiar min(0, l) (1 - o) + sum_j slope_j g_j + sum_k also_k y_k
    + offset[answer] + strange_offset[answer] o), g_j = max(0, x_j - theta_j),
    o = min(1, max_j g_j inverse_cap_j), l the error logit; int32, Q16.

    slope, theta, inverse_cap: int32 [taps], one per input x_j. also: int32 [0 or more], one per
    input y_k that follows them. offset, strange_offset: int32 [classes]. hidden: what stands in
    for b0; its inputs are l, all x_j and all y_k.
    """

    b0_q16: int
    b2_q16: int
    familiar_q16: int
    slope_q16: NDArray[np.int32]
    theta_q16: NDArray[np.int32]
    inverse_cap_q16: NDArray[np.int32]
    also_q16: NDArray[np.int32]
    offset_q16: NDArray[np.int32]
    strange_offset_q16: NDArray[np.int32]
    hidden: Hidden | None = None


@dataclass(frozen=True)
class MapLogistic:
    """U = sigmoid(b0 + b1 S + b2 m); int32, Q16."""

    b0_q16: int
    b1_q16: int
    b2_q16: int


@dataclass(frozen=True, eq=False)
class MapIsotonic:
    """U = value[number of breakpoints <= psi], psi = gamma S + (1 - gamma) m.

    gamma in [0, 65536]; breakpoint uint32 [B] ascending, B <= 32; value uint32 [B + 1], not
    descending, at most 65536.
    """

    gamma_q16: int
    breakpoint_q16: NDArray[np.uint32]
    value_q16: NDArray[np.uint32]


def map_gated_q16(
    parameters: MapGated, input_q16: NDArray[np.int32], error_logit_q16: NDArray[np.int32]
) -> NDArray[np.uint32]:
    """input int32 [N, gates], error_logit int32 [N] -> U, uint32 [N] in [0, 65536]."""
    excess = np.maximum(input_q16.astype(np.int64) - parameters.theta_q16, 0)
    t = parameters.b0_q16 + _mul(parameters.slope_q16, excess).sum(axis=-1)
    return sigmoid_q16(t + _mul(parameters.b2_q16, error_logit_q16))


def map_class_gated_q16(
    parameters: MapClassGated,
    input_q16: NDArray[np.int32],
    error_logit_q16: NDArray[np.int32],
    answer: NDArray[np.int32],
) -> NDArray[np.uint32]:
    """input int32 [N, taps + also], error_logit int32 [N], answer int32 [N] in [0, classes)
    -> U, uint32 [N] in [0, 65536]."""
    gated, also = np.split(input_q16.astype(np.int64), [len(parameters.slope_q16)], axis=-1)
    excess = np.maximum(gated - parameters.theta_q16, 0)
    strange = _mul(parameters.inverse_cap_q16, excess).max(axis=-1, initial=0).clip(0, ONE_Q16)
    sure = _mul(np.minimum(error_logit_q16, 0), ONE_Q16 - strange)
    b0_q16: int | NDArray[np.int32] = parameters.b0_q16
    if parameters.hidden:
        given = np.column_stack([error_logit_q16, input_q16])
        b0_q16 = hidden_q16(parameters.hidden, parameters.b0_q16, given, answer)
    t = b0_q16 + _mul(parameters.b2_q16, error_logit_q16)
    t = t + _mul(parameters.familiar_q16, sure) + _mul(parameters.slope_q16, excess).sum(axis=-1)
    t = t + _mul(parameters.also_q16, also).sum(axis=-1)
    t = t + parameters.offset_q16[answer] + _mul(parameters.strange_offset_q16[answer], strange)
    return sigmoid_q16(t)


def map_logistic_q16(
    parameters: MapLogistic, score_q16: NDArray[np.uint32], doubt_q16: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """score uint32 [N], doubt uint32 [N] -> U, uint32 [N] in [0, 65536]."""
    t = parameters.b0_q16 + _mul(parameters.b1_q16, score_q16)
    return sigmoid_q16(t + _mul(parameters.b2_q16, doubt_q16))


def map_isotonic_q16(
    parameters: MapIsotonic, score_q16: NDArray[np.uint32], doubt_q16: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """score uint32 [N], doubt uint32 [N] -> U, uint32 [N] in [0, 65536]."""
    psi_q16 = _mul(parameters.gamma_q16, score_q16)
    psi_q16 = psi_q16 + _mul(ONE_Q16 - parameters.gamma_q16, doubt_q16)
    steps = parameters.breakpoint_q16.astype(np.int64)
    return parameters.value_q16[np.searchsorted(steps, psi_q16, side="right")]


def _mul(a_q16: ArrayLike, b_q16: ArrayLike) -> NDArray[np.int64]:
    return (np.asarray(a_q16, np.int64) * np.asarray(b_q16, np.int64) + (1 << 15)) >> 16
