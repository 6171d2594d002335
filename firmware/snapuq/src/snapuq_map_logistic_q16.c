/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

uint32_t snapuq_map_logistic_q16(const struct snapuq_map_logistic *map, uint32_t score_q16,
                                 uint32_t doubt_q16)
{
    return snapuq_sigmoid_q16(map->b0_q16 + snapuq_mul_q16(map->b1_q16, score_q16) +
                                  snapuq_mul_q16(map->b2_q16, doubt_q16),
                              map->tail_q16);
}
