/* From bytes to the columns of a tile, and what comes behind a tile. Not part of the contract. */
#ifndef SNAPNN_COLUMNS_H
#define SNAPNN_COLUMNS_H

#include "snapnn_simd.h"

/* Pairs from one group of a column to the next. */
#define SNAPNN_GROUP_PAIRS 8

/* Appends groups of four bytes to a column. Returns its end. */
static inline uint32_t *snapnn_spread(uint32_t *column, const int8_t *from, int32_t groups)
{
    for (; groups >= 4; groups -= 4, from += 16, column += 4 * SNAPNN_GROUP_PAIRS) {
        for (int32_t i = 0; i < 4; ++i) {
            const uint32_t bytes = snapnn_load4(from + 4 * i);
            column[SNAPNN_GROUP_PAIRS * i] = snapnn_even(bytes);
            column[SNAPNN_GROUP_PAIRS * i + 4] = snapnn_odd(bytes);
        }
    }
    for (; groups > 0; --groups, from += 4, column += SNAPNN_GROUP_PAIRS) {
        const uint32_t bytes = snapnn_load4(from);
        column[0] = snapnn_even(bytes);
        column[4] = snapnn_odd(bytes);
    }
    return column;
}

/* The same for groups of one value, given as a pair. */
static inline uint32_t *snapnn_spread_value(uint32_t *column, uint32_t pair, int32_t groups)
{
    for (; groups > 0; --groups, column += SNAPNN_GROUP_PAIRS) {
        column[0] = pair;
        column[4] = pair;
    }
    return column;
}

/* Copies that do not overlap, and fills. Returns the end. The C library's may take a byte at a
 * time; the barrier keeps the compiler from calling them instead. */
static inline int8_t *snapnn_copy(int8_t *to, const int8_t *from, int32_t length)
{
    for (; length >= 4; length -= 4, from += 4, to += 4) {
        snapnn_store4(to, snapnn_load4(from));
        __asm__("" ::: "memory");
    }
    for (; length > 0; --length) {
        *to++ = *from++;
        __asm__("" ::: "memory");
    }
    return to;
}

static inline int8_t *snapnn_fill(int8_t *to, int32_t value, int32_t length)
{
    for (; length > 0; --length) {
        *to++ = (int8_t)value;
        __asm__("" ::: "memory");
    }
    return to;
}

/* Limits outputs to the range of a fused activation, four at a time: what a saturated sum cuts
 * off does not come back. */
static inline void snapnn_limit(int8_t *output, int32_t length, const struct snapnn_range *range)
{
    if (range->min == -128 && range->max == 127) {
        return;
    }
    const uint32_t over = UINT32_C(0x01010101) * (uint32_t)(127 - range->max);
    /* Up to 255, which no int8 holds: in two halves. */
    const uint32_t below = (uint32_t)(range->min + 128);
    const uint32_t under1 = UINT32_C(0x01010101) * (below / 2);
    const uint32_t under2 = UINT32_C(0x01010101) * (below - below / 2);
    for (; length > 0; length -= 4, output += 4) {
        uint32_t bytes = 0;
        const uint32_t count = length < 4 ? (uint32_t)length : 4;
        memcpy(&bytes, output, count);
        bytes = snapnn_qsub8(snapnn_qadd8(bytes, over), over);
        bytes = snapnn_qsub8(snapnn_qsub8(bytes, under1), under2);
        bytes = snapnn_qadd8(snapnn_qadd8(bytes, under1), under2);
        memcpy(output, &bytes, count);
    }
}

#endif
