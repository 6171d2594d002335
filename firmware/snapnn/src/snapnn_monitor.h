/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* What the kernels of the monitor share. Not part of the contract. */
#ifndef SNAPNN_MONITOR_H
#define SNAPNN_MONITOR_H

#include "snapnn.h"
#include "snapuq_simd.h"

/* As struct snapnn_shift says: seven instructions. */
static inline int32_t snapnn_rescaled(int32_t value, uint32_t twice, int32_t rounding,
                                      const struct snapnn_shift *shift)
{
    const int32_t shifted = (int32_t)((uint32_t)value << shift->left);
    const int32_t high = snapuq_high_unsigned(shifted, twice);
    return (high + (high >> 31 & shift->mask) + rounding) >> shift->right;
}

/* x: pooled sums as Q10, zeros behind them up to a multiple of four. */
static inline void snapnn_standardized(const struct snapnn_standardize *input, int32_t channels,
                                       const int32_t *sum, int16_t *x)
{
    const struct snapnn_shift shift = input->shift;
    for (int32_t c = 0; c < channels; ++c) {
        x[c] = snapuq_saturate16(
            snapnn_rescaled(sum[c], input->twice[c], input->rounding[c], &shift));
    }
    for (; channels % 4; ++channels) {
        x[channels] = 0;
    }
}

/* sum[i] = the products of z with row i of four: 21 instructions for 16 MACs. inputs: a multiple of
 * four; z is aligned to 4. Returns the end of the words. */
static inline const uint32_t *snapnn_dot_rows(const uint32_t *words, const int16_t *z,
                                              int32_t inputs, int32_t sum[4])
{
    const uint32_t *pairs = (const uint32_t *)(const void *)z, *end = pairs + inputs / 2;
    int32_t a = 0, b = 0, c = 0, d = 0;
    do {
        uint32_t first, second, x, y;
        snapuq_load_two(&pairs, &first, &second);
        snapuq_load_two(&words, &x, &y);
        a = snapuq_smlad(first, snapuq_even(x), a);
        b = snapuq_smlad(first, snapuq_odd(x), b);
        a = snapuq_smlad(second, snapuq_even(y), a);
        b = snapuq_smlad(second, snapuq_odd(y), b);
        snapuq_load_two(&words, &x, &y);
        c = snapuq_smlad(first, snapuq_even(x), c);
        d = snapuq_smlad(first, snapuq_odd(x), d);
        c = snapuq_smlad(second, snapuq_even(y), c);
        d = snapuq_smlad(second, snapuq_odd(y), d);
    } while (pairs != end);
    sum[0] = a;
    sum[1] = b;
    sum[2] = c;
    sum[3] = d;
    return words;
}

/* The next multiple of four. */
static inline int32_t snapnn_fours(int32_t length)
{
    return (length + 3) & ~3;
}

#endif
