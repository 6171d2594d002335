/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

uint32_t snapuq_energy_gaussian_q16(const int32_t *u_q12, int32_t channels)
{
    uint64_t total_q24 = 0;
    for (int32_t i = 0; i < channels; ++i) {
        total_q24 += (uint64_t)((int64_t)u_q12[i] * u_q12[i]);
    }
    return snapuq_mean_q16(total_q24 >> 8, (uint32_t)channels);
}
