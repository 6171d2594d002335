/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_lanes.h"

void snapuq_pool_sum_s8(const int8_t *input, int32_t positions, int32_t channels,
                        int32_t zero_point, int32_t *sum)
{
    for (int32_t c = 0; c < channels; ++c) {
        sum[c] = -zero_point * positions;
    }
    int32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
        snapuq_lanes_sum(input + c, positions, channels, sum + c);
    }
    for (; c < channels; ++c) {
        const int8_t *from = input + c;
        for (int32_t left = positions; left > 0; --left, from += channels) {
            sum[c] += *from;
        }
    }
}
