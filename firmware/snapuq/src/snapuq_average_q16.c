/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

void snapuq_average_q16(const uint32_t *value_q16, int32_t members, int32_t classes,
                        uint32_t *average_q16)
{
    for (int32_t k = 0; k < classes; ++k) {
        uint32_t total = (uint32_t)members / 2;
        for (int32_t m = 0; m < members; ++m) {
            total += value_q16[m * classes + k];
        }
        average_q16[k] = total / (uint32_t)members;
    }
}
