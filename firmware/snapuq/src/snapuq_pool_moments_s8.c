/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

void snapuq_pool_moments_s8(const int8_t *input, int32_t positions, int32_t channels,
                            int32_t zero_point, int32_t *sum)
{
    snapuq_pool_sum_s8(input, positions, channels, zero_point, sum);
    for (int32_t c = 0; c < channels; ++c) {
        const int8_t *from = input + c;
        int64_t squares = 0;
        for (int32_t left = positions; left > 0; --left, from += channels) {
            const int32_t centred = *from - zero_point;
            squares += (int64_t)centred * centred;
        }
        sum[channels + c] =
            (int32_t)snapuq_square_root((uint64_t)(positions * squares - (int64_t)sum[c] * sum[c]));
    }
}
