/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

#define LN2_Q16 45426

int32_t snapuq_ln_q16(uint32_t value, const uint16_t *log2_q15)
{
    int32_t top = 0;
    for (int32_t step = 16; step > 0; step /= 2) {
        if (value >> (top + step)) {
            top += step;
        }
    }
    /* The highest bit itself is masked away below, so that 0 and 1 look alike. */
    const uint32_t below = top >= 24 ? value >> (top - 24) : value << (24 - top);
    const uint32_t i = (below >> 16) & 255;
    const uint32_t fraction = below & 65535;
    const uint32_t rise = (uint32_t)log2_q15[i + 1] - log2_q15[i];
    const uint32_t l_q16 =
        ((uint32_t)top << 16) + ((log2_q15[i] + ((rise * fraction) >> 16)) << 1);
    return (int32_t)(((uint64_t)l_q16 * LN2_Q16 + (1 << 15)) >> 16);
}

int32_t snapuq_ln_of_q16(uint32_t value_q16, const uint16_t *log2_q15)
{
    return snapuq_ln_q16(value_q16, log2_q15) - 16 * LN2_Q16;
}
