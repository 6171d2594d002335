/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

#include "snapnn.h"
#include "snapuq_lanes.h"

void snapnn_mean_s8(const struct snapuq_mean_s8 *layer, const int8_t *input, int8_t *output)
{
    const int32_t channels = layer->channels;
    const struct snapuq_multiplier multiplier = layer->multiplier;
    for (int32_t row = 0; row < layer->rows; ++row) {
        int32_t count = 4;
        for (int32_t c = 0; c < channels; c += count) {
            count = c + 4 <= channels ? 4 : 1;
            const int32_t start = -layer->in_zero_point * layer->positions;
            int32_t sum[4] = {start, start, start, start};
            if (count == 4) {
                snapuq_lanes_sum(input + c, layer->positions, channels, 1, sum);
            } else {
                for (int32_t i = 0; i < layer->positions; ++i) {
                    sum[0] += input[i * channels + c];
                }
            }
            for (int32_t i = 0; i < count; ++i) {
                const int32_t mean =
                    snapuq_requantize(sum[i], multiplier.mantissa, multiplier.shift);
                *output++ = snapuq_place(mean, layer->out_zero_point, INT8_MIN, INT8_MAX);
            }
        }
        input += layer->positions * channels;
    }
}
