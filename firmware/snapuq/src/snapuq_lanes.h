/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Sums over positions, two channels in the halves of a word. Not part of the contract. */
#ifndef SNAPUQ_LANES_H
#define SNAPUQ_LANES_H

#include "snapuq_simd.h"

/* Positions after which a half still holds the sum of int8. */
#define SNAPUQ_LANE_POSITIONS 256

/* Words of four channels in the registers of a core, two of sums for each. */
#define SNAPUQ_LANE_WORDS 4

/* Channels 0 and 2 of each word, and channels 1 and 3. */
struct snapuq_lanes {
    uint32_t even[SNAPUQ_LANE_WORDS], odd[SNAPUQ_LANE_WORDS];
};

static inline void snapuq_lanes_add(struct snapuq_lanes *lanes, const int8_t *from, int32_t words)
{
#pragma GCC unroll 4
    for (int32_t w = 0; w < words; ++w) {
        const uint32_t bytes = snapuq_load4(from + 4 * w);
        lanes->even[w] = snapuq_add_even(lanes->even[w], bytes);
        lanes->odd[w] = snapuq_add_odd(lanes->odd[w], bytes);
    }
}

static inline void snapuq_lanes_flush(const struct snapuq_lanes *lanes, int32_t words,
                                      int32_t *sum)
{
#pragma GCC unroll 4
    for (int32_t w = 0; w < words; ++w, sum += 4) {
        sum[0] += (int16_t)lanes->even[w];
        sum[1] += (int16_t)lanes->odd[w];
        sum[2] += (int16_t)(lanes->even[w] >> 16);
        sum[3] += (int16_t)(lanes->odd[w] >> 16);
    }
}

/* sum[i] += channel i of all positions, `step` bytes apart; 4 * words channels, words a constant
 * up to SNAPUQ_LANE_WORDS. */
static inline void snapuq_lanes_sum(const int8_t *input, int32_t positions, int32_t step,
                                    int32_t words, int32_t *sum)
{
    while (positions > 0) {
        const int32_t block =
            positions < SNAPUQ_LANE_POSITIONS ? positions : SNAPUQ_LANE_POSITIONS;
        struct snapuq_lanes lanes = {{0}, {0}};
#pragma GCC unroll 2
        for (int32_t left = block; left > 0; --left, input += step) {
            snapuq_lanes_add(&lanes, input, words);
        }
        snapuq_lanes_flush(&lanes, words, sum);
        /* No sum waits in a register, or for want of one on the stack. */
        SNAPUQ_BARRIER();
        positions -= block;
    }
}

#endif
