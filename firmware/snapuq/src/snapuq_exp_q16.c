/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

#define LOG2_E_Q16 94548
/* From here on the result rounds to zero. */
#define OCTAVES 17

uint32_t snapuq_exp_q16(uint64_t value_q16)
{
    /* 2^g = 1 + g (c1 + g (c2 + ...)) on [0, 1]; they sum to one, so that octaves meet. */
    static const uint32_t power_q30[] = {14554480, 55872046, 259177380, 744137918, 1 << 30};
    const uint64_t limited = value_q16 < (1 << 20) ? value_q16 : 1 << 20;
    const uint64_t exponent_q32 = limited * LOG2_E_Q16;
    const uint32_t octave = (uint32_t)(exponent_q32 >> 32);
    if (octave >= OCTAVES) {
        return 0;
    }
    /* 2^-f = 2^(1 - f) / 2: with 1 - f all terms are positive. */
    const uint32_t g_q30 = (1u << 30) - ((uint32_t)exponent_q32 >> 2);
    uint32_t power = 0;
    for (int32_t i = 0; i < 5; ++i) {
        power = power_q30[i] + (uint32_t)(((uint64_t)power * g_q30) >> 30);
    }
    return (power + (UINT32_C(1) << (octave + 14))) >> (octave + 15);
}
