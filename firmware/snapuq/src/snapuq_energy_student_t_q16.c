/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

/* Here 1 + u^2 / nu has saturated long before. */
#define U_LIMIT_Q12 (1 << 23)

uint32_t snapuq_energy_student_t_q16(const struct snapuq_energy_student_t *energy,
                                     const int32_t *u_q12, int32_t channels)
{
    const uint32_t ln_one = (uint32_t)snapuq_ln_q16(1 << 16, energy->log2_q15);
    uint64_t total_q16 = 0;
    for (int32_t i = 0; i < channels; ++i) {
        const int32_t u = snapuq_clamp(u_q12[i], -U_LIMIT_Q12, U_LIMIT_Q12);
        const uint64_t square_q24 = (uint64_t)((int64_t)u * u);
        const uint64_t one_plus_q16 =
            (1 << 16) + ((square_q24 * (uint32_t)energy->inverse_nu_q18 + (1 << 25)) >> 26);
        const uint32_t limited = one_plus_q16 > UINT32_MAX ? UINT32_MAX : (uint32_t)one_plus_q16;
        total_q16 += (uint32_t)snapuq_ln_q16(limited, energy->log2_q15) - ln_one;
    }
    total_q16 = (total_q16 * (uint32_t)energy->nu_plus_1_q16 + (1 << 15)) >> 16;
    return snapuq_mean_q16(total_q16, (uint32_t)channels);
}
