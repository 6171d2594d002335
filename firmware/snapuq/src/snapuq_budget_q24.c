/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

#define ONE_Q24 (1 << 24)

static int32_t mul_q24(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1 << 23)) >> 24);
}

void snapuq_budget_start(const struct snapuq_budget *budget, struct snapuq_budget_state *state)
{
    state->rate_q24 = 0;
    state->threshold_q24 = budget->threshold_q24;
}

int32_t snapuq_budget_step(const struct snapuq_budget *budget, struct snapuq_budget_state *state,
                           uint32_t uncertainty_q16)
{
    const int32_t abstain = uncertainty_q16 << 8 >= (uint32_t)state->threshold_q24;
    state->rate_q24 += mul_q24(budget->eta_q24, (abstain ? ONE_Q24 : 0) - state->rate_q24);
    state->threshold_q24 += mul_q24(budget->kappa_q24, state->rate_q24 - budget->budget_q24);
    state->threshold_q24 = snapuq_clamp(state->threshold_q24, 0, ONE_Q24);
    return abstain;
}
