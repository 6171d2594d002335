/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

uint32_t snapuq_score_q16(const uint32_t *surprisal_q16, const uint32_t *weight_q16, int32_t taps)
{
    uint64_t total_q32 = 1 << 15;
    for (int32_t l = 0; l < taps; ++l) {
        total_q32 += (uint64_t)weight_q16[l] * surprisal_q16[l];
    }
    return (uint32_t)(total_q32 >> 16);
}
