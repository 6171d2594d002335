"""Budget controller (SPEC 1.8) <-> snapuq_budget_q24.c.

The state has 24 fractional bits: with 16, a small eta or kappa would round its own steps away.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools

ONE_Q24 = 1 << 24


@dataclass(frozen=True)
class Budget:
    """Each int32 in [0, 2^24], Q24; threshold is the one to start with."""

    budget_q24: int
    eta_q24: int
    kappa_q24: int
    threshold_q24: int


@dataclass(frozen=True)
class BudgetState:
    """The running rate of abstentions and the current threshold, both in [0, 2^24], Q24."""

    rate_q24: int
    threshold_q24: int


def budget_of(budget: float, eta: float, kappa: float, threshold_q16: int) -> Budget:
    """Real parameters in [0, 1]; a threshold that nothing reaches becomes 1."""

    def q24(value: float) -> int:
        return round(value * ONE_Q24)

    return Budget(q24(budget), q24(eta), q24(kappa), min(threshold_q16 << 8, ONE_Q24))


def budget_start(parameters: Budget) -> BudgetState:
    return BudgetState(0, parameters.threshold_q24)


def budget_step(
    parameters: Budget, state: BudgetState, uncertainty_q16: int
) -> tuple[bool, BudgetState]:
    """Whether an input with this U in [0, 65536] abstains, and the state after it."""
    abstain = uncertainty_q16 << 8 >= state.threshold_q24
    rate = state.rate_q24 + _mul(parameters.eta_q24, ONE_Q24 * abstain - state.rate_q24)
    threshold = state.threshold_q24 + _mul(parameters.kappa_q24, rate - parameters.budget_q24)
    return abstain, BudgetState(rate, min(max(threshold, 0), ONE_Q24))


def budget_run(
    parameters: Budget, uncertainty_q16: NDArray[np.uint32]
) -> tuple[Bools, NDArray[np.int32]]:
    """U uint32 [N] in order -> abstain [N], and [N, 2]: rate and threshold after each."""
    state = budget_start(parameters)
    abstain = np.empty(len(uncertainty_q16), bool)
    states = np.empty((len(uncertainty_q16), 2), np.int32)
    for t, uncertainty in enumerate(uncertainty_q16.tolist()):
        abstain[t], state = budget_step(parameters, state, uncertainty)
        states[t] = state.rate_q24, state.threshold_q24
    return abstain, states


def _mul(a_q24: int, b_q24: int) -> int:
    return (a_q24 * b_q24 + (1 << 23)) >> 24
