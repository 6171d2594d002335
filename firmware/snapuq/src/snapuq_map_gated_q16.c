/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

uint32_t snapuq_map_gated_q16(const struct snapuq_map_gated *map, const int32_t *input_q16,
                              int32_t error_logit_q16)
{
    int64_t t = map->b0_q16 + snapuq_mul_q16(map->b2_q16, error_logit_q16);
    for (int32_t j = 0; j < map->gates; ++j) {
        const int64_t excess = (int64_t)input_q16[j] - map->theta_q16[j];
        if (excess > 0) {
            t += snapuq_mul_q16(map->slope_q16[j], excess);
        }
    }
    return snapuq_sigmoid_q16(t, map->tail_q16);
}
