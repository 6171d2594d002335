/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

uint32_t snapuq_map_isotonic_q16(const struct snapuq_map_isotonic *map, uint32_t score_q16,
                                 uint32_t doubt_q16)
{
    const int64_t psi_q16 = snapuq_mul_q16(map->gamma_q16, score_q16) +
                            snapuq_mul_q16((int64_t)65536 - map->gamma_q16, doubt_q16);
    int32_t passed = 0;
    while (passed < map->breakpoints && map->breakpoint_q16[passed] <= psi_q16) {
        ++passed;
    }
    return map->value_q16[passed];
}
