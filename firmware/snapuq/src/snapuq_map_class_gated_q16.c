/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

#define ONE_Q16 65536

uint32_t snapuq_map_class_gated_q16(const struct snapuq_map_class_gated *map,
                                    const int32_t *input_q16, int32_t error_logit_q16,
                                    int32_t answer)
{
    const int64_t sure = error_logit_q16 < 0 ? error_logit_q16 : 0;
    int64_t t = map->b0_q16 + snapuq_mul_q16(map->b2_q16, error_logit_q16);
    int64_t strange = 0;
    for (int32_t j = 0; j < map->taps; ++j) {
        const int64_t excess = (int64_t)input_q16[j] - map->theta_q16[j];
        if (excess > 0) {
            const int64_t far = snapuq_mul_q16(map->inverse_cap_q16[j], excess);
            strange = far > strange ? far : strange;
            t += snapuq_mul_q16(map->slope_q16[j], excess);
        }
    }
    for (int32_t k = 0; k < map->others; ++k) {
        t += snapuq_mul_q16(map->also_q16[k], input_q16[map->taps + k]);
    }
    strange = strange > ONE_Q16 ? ONE_Q16 : strange;
    t += snapuq_mul_q16(map->familiar_q16, snapuq_mul_q16(sure, ONE_Q16 - strange));
    t += map->offset_q16[answer];
    t += snapuq_mul_q16(map->strange_offset_q16[answer], strange);
    return snapuq_sigmoid_q16(t, map->tail_q16);
}
