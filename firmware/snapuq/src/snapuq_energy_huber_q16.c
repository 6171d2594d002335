/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

uint32_t snapuq_energy_huber_q16(const struct snapuq_energy_huber *energy, const int32_t *u_q12,
                                 int32_t channels)
{
    const uint32_t delta_q12 = (uint32_t)energy->delta_q12;
    uint64_t total_q24 = 0;
    for (int32_t i = 0; i < channels; ++i) {
        const uint32_t size_q12 = (uint32_t)(u_q12[i] < 0 ? -u_q12[i] : u_q12[i]);
        /* rho beyond delta goes on along its tangent. */
        total_q24 += size_q12 <= delta_q12 ? (uint64_t)size_q12 * size_q12
                                           : (uint64_t)delta_q12 * (2 * size_q12 - delta_q12);
    }
    return snapuq_mean_q16(total_q24 >> 8, (uint32_t)channels);
}
