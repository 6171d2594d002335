/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

void snapuq_probability_q16(const int8_t *logits, int32_t classes, uint32_t step_q24,
                            uint32_t *probability_q16)
{
    const int32_t top = logits[snapuq_argmax_s8(logits, classes)];
    uint64_t total = 0;
    for (int32_t k = 0; k < classes; ++k) {
        const uint64_t below_q24 = (uint64_t)(top - logits[k]) * step_q24;
        probability_q16[k] = snapuq_exp_q16((below_q24 + (1 << 7)) >> 8);
        total += probability_q16[k];
    }
    for (int32_t k = 0; k < classes; ++k) {
        probability_q16[k] = (uint32_t)((((uint64_t)probability_q16[k] << 16) + total / 2) / total);
    }
}
