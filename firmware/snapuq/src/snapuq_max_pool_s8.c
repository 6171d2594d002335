/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

void snapuq_max_pool_s8(const struct snapuq_pool_s8 *layer, const int8_t *input, int8_t *output)
{
    const int32_t channels = layer->channels;
    for (int32_t oy = 0; oy < layer->out_h; ++oy) {
        for (int32_t ox = 0; ox < layer->out_w; ++ox) {
            const struct snapuq_patch patch = snapuq_patch(layer, input, oy, ox);
            for (int32_t c = 0; c < channels; ++c) {
                const int8_t *from = patch.first + c;
                int32_t max = layer->min;
                for (int32_t y = patch.rows; y > 0; --y, from += patch.skip) {
                    for (int32_t x = patch.columns; x > 0; --x, from += channels) {
                        max = *from > max ? *from : max;
                    }
                }
                *output++ = (int8_t)(max < layer->max ? max : layer->max);
            }
        }
    }
}
