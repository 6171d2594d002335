/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* From bytes to the columns of a tile, and what comes behind a tile. Not part of the contract. */
#ifndef SNAPNN_COLUMNS_H
#define SNAPNN_COLUMNS_H

#include "snapnn_scale.h"

/* Pairs from one group of a column to the next. */
#define SNAPNN_GROUP_PAIRS 8

/* One group of a column. */
static inline void snapnn_spread1(uint32_t *column, uint32_t bytes)
{
    column[0] = snapuq_even(bytes);
    column[4] = snapuq_odd(bytes);
}

/* Appends groups of four bytes to a column. Returns its end. */
static inline uint32_t *snapnn_spread(uint32_t *column, const int8_t *from, int32_t groups)
{
    for (; groups >= 4; groups -= 4, from += 16, column += 4 * SNAPNN_GROUP_PAIRS) {
        snapnn_spread1(column, snapuq_load4(from));
        snapnn_spread1(column + SNAPNN_GROUP_PAIRS, snapuq_load4(from + 4));
        snapnn_spread1(column + 2 * SNAPNN_GROUP_PAIRS, snapuq_load4(from + 8));
        snapnn_spread1(column + 3 * SNAPNN_GROUP_PAIRS, snapuq_load4(from + 12));
    }
    for (; groups > 0; --groups, from += 4, column += SNAPNN_GROUP_PAIRS) {
        snapnn_spread1(column, snapuq_load4(from));
    }
    return column;
}

/* Copies that do not overlap, and fills. Returns the end. The C library's may take a byte at a
 * time: the barrier keeps the compiler from calling them instead. */
static inline int8_t *snapnn_copy(int8_t *to, const int8_t *from, int32_t length)
{
    for (; length >= 4; length -= 4, from += 4, to += 4) {
        snapuq_store4(to, snapuq_load4(from));
        SNAPUQ_BARRIER();
    }
    for (; length > 0; --length) {
        *to++ = *from++;
        SNAPUQ_BARRIER();
    }
    return to;
}

static inline int8_t *snapnn_fill(int8_t *to, int32_t value, int32_t length)
{
    const uint32_t word = UINT32_C(0x01010101) * (uint8_t)value;
    for (; length >= 4; length -= 4, to += 4) {
        snapuq_store4(to, word);
        SNAPUQ_BARRIER();
    }
    for (; length > 0; --length) {
        *to++ = (int8_t)value;
        SNAPUQ_BARRIER();
    }
    return to;
}

/* Limits outputs to the range of a fused activation. */
static inline void snapnn_limit(int8_t *output, int32_t length, const struct snapnn_range *range)
{
    if (range->min == -128 && range->max == 127) {
        return;
    }
    const uint32_t min = UINT32_C(0x01010101) * (uint8_t)range->min;
    const uint32_t max = UINT32_C(0x01010101) * (uint8_t)range->max;
    for (; length >= 4; length -= 4, output += 4) {
        snapuq_store4(output, snapuq_min8(snapuq_max8(snapuq_load4(output), min), max));
    }
    uint32_t bytes = snapuq_min8(snapuq_max8(snapuq_load_rest(output, length), min), max);
    for (; length > 0; --length, bytes >>= 8) {
        *output++ = (int8_t)bytes;
    }
}

#endif
