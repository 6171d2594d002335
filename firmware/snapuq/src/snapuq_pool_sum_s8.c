/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_lanes.h"

/* Of 4 * words channels, a constant number. */
static inline void sum_words(const int8_t *input, int32_t positions, int32_t channels,
                             int32_t start, int32_t words, int32_t *sum)
{
#pragma GCC unroll 16
    for (int32_t i = 0; i < 4 * words; ++i) {
        sum[i] = start;
    }
    /* They wait in memory: there are not registers for so many beside those of the lanes. */
    SNAPUQ_BARRIER();
    snapuq_lanes_sum(input, positions, channels, words, sum);
}

void snapuq_pool_sum_s8(const int8_t *input, int32_t positions, int32_t channels,
                        int32_t zero_point, int32_t *sum)
{
    const int32_t start = -zero_point * positions;
    int32_t c = 0;
    for (; c + 4 * SNAPUQ_LANE_WORDS <= channels; c += 4 * SNAPUQ_LANE_WORDS) {
        sum_words(input + c, positions, channels, start, SNAPUQ_LANE_WORDS, sum + c);
    }
    for (; c + 4 <= channels; c += 4) {
        sum_words(input + c, positions, channels, start, 1, sum + c);
    }
    for (; c < channels; ++c) {
        int32_t total = start;
        const int8_t *from = input + c;
        for (int32_t left = positions; left > 0; --left, from += channels) {
            total += *from;
        }
        sum[c] = total;
    }
}
