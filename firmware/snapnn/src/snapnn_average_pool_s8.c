/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"
#include "snapuq_lanes.h"

#include "snapnn.h"

/* The sum of a window, for 4 channels or 1. */
static inline void sum_window(const struct snapuq_patch *patch, int32_t channels, int32_t c,
                              int32_t count, int32_t sum[4])
{
    const int8_t *from = patch->first + c;
    for (int32_t y = patch->rows; y > 0; --y, from += patch->skip + patch->columns * channels) {
        if (count == 4) {
            snapuq_lanes_sum(from, patch->columns, channels, 1, sum);
        } else {
            for (int32_t x = 0; x < patch->columns; ++x) {
                sum[0] += from[x * channels];
            }
        }
    }
}

void snapnn_average_pool_s8(const struct snapuq_pool_s8 *layer, const int8_t *input,
                            int8_t *output)
{
    const int32_t channels = layer->channels;
    for (int32_t oy = 0; oy < layer->out_h; ++oy) {
        for (int32_t ox = 0; ox < layer->out_w; ++ox) {
            struct snapuq_patch patch = snapuq_patch(layer, input, oy, ox);
            const int32_t size = patch.rows * patch.columns, half = size / 2;
            if (patch.skip == 0) { /* whole rows: as one */
                patch.columns = size;
                patch.rows = 1;
            }
            int32_t count = 4;
            for (int32_t c = 0; c < channels; c += count) {
                count = c + 4 <= channels ? 4 : 1;
                int32_t sum[4] = {0};
                sum_window(&patch, channels, c, count, sum);
                for (int32_t i = 0; i < count; ++i) {
                    const int32_t mean = (sum[i] > 0 ? sum[i] + half : sum[i] - half) / size;
                    *output++ = (int8_t)snapuq_clamp(mean, layer->min, layer->max);
                }
            }
        }
    }
}
