/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

void snapuq_mean_s8(const struct snapuq_mean_s8 *layer, const int8_t *input, int8_t *output)
{
    const int32_t channels = layer->channels;
    const struct snapuq_multiplier multiplier = layer->multiplier;

    for (int32_t row = 0; row < layer->rows; ++row) {
        for (int32_t c = 0; c < channels; ++c) {
            int32_t sum = -layer->in_zero_point * layer->positions;
            const int8_t *from = input + c;
            for (int32_t left = layer->positions; left > 0; --left, from += channels) {
                sum += *from;
            }
            const int32_t mean =
                snapuq_requantize_inline(sum, multiplier.mantissa, multiplier.shift);
            *output++ = snapuq_place(mean, layer->out_zero_point, INT8_MIN, INT8_MAX);
        }
        input += layer->positions * channels;
    }
}
