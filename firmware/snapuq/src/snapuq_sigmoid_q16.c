/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

#define LIMIT_Q16 ((1 << 20) - 1) /* |t| just below 16, where the table ends */

uint32_t snapuq_sigmoid_q16(int64_t t_q16, const uint16_t *tail_q16)
{
    const int32_t t = (int32_t)snapuq_clamp64(t_q16, -LIMIT_Q16, LIMIT_Q16);
    const uint32_t size = (uint32_t)(t < 0 ? -t : t);
    const uint32_t i = size >> 12;
    const uint32_t fall = (uint32_t)tail_q16[i] - tail_q16[i + 1];
    const uint32_t tail = tail_q16[i] - ((fall * (size & 4095)) >> 12);
    return t < 0 ? tail : 65536 - tail;
}
