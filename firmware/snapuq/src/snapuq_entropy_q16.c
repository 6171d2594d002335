/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

uint32_t snapuq_entropy_q16(const uint32_t *probability_q16, int32_t classes,
                            const uint16_t *log2_q15)
{
    uint64_t total_q32 = 0;
    for (int32_t k = 0; k < classes; ++k) {
        const int32_t below_q16 = -snapuq_ln_of_q16(probability_q16[k], log2_q15);
        total_q32 += (uint64_t)probability_q16[k] * (uint32_t)below_q16;
    }
    return (uint32_t)((total_q32 + (1 << 15)) >> 16);
}
