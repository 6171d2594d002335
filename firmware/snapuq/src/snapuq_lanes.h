/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Sums over positions, two channels in the halves of a word. Not part of the contract. */
#ifndef SNAPUQ_LANES_H
#define SNAPUQ_LANES_H

#include "snapuq_simd.h"

/* Positions after which a half still holds the sum of int8. */
#define SNAPUQ_LANE_POSITIONS 256

/* Four channels in two words. */
struct snapuq_lanes {
    uint32_t even, odd;
};

static inline void snapuq_lanes_add(struct snapuq_lanes *lanes, const int8_t *from)
{
    const uint32_t bytes = snapuq_load4(from);
    lanes->even = snapuq_add_even(lanes->even, bytes);
    lanes->odd = snapuq_add_odd(lanes->odd, bytes);
}

static inline void snapuq_lanes_flush(const struct snapuq_lanes *lanes, int32_t sum[4])
{
    sum[0] += (int16_t)lanes->even;
    sum[1] += (int16_t)lanes->odd;
    sum[2] += (int16_t)(lanes->even >> 16);
    sum[3] += (int16_t)(lanes->odd >> 16);
}

/* sum[i] += channel i of all positions, `step` bytes apart. */
static inline void snapuq_lanes_sum(const int8_t *input, int32_t positions, int32_t step,
                                    int32_t sum[4])
{
    while (positions > 0) {
        const int32_t block =
            positions < SNAPUQ_LANE_POSITIONS ? positions : SNAPUQ_LANE_POSITIONS;
        struct snapuq_lanes lanes = {0, 0};
        int32_t left = block;
        if (left % 2) {
            snapuq_lanes_add(&lanes, input);
            input += step;
        }
        for (left /= 2; left > 0; --left, input += 2 * step) {
            snapuq_lanes_add(&lanes, input);
            snapuq_lanes_add(&lanes, input + step);
        }
        snapuq_lanes_flush(&lanes, sum);
        positions -= block;
    }
}

#endif
