/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "snapuq.h"

void snapuq_resize_nearest_s8(const struct snapuq_resize_nearest_s8 *layer, const int8_t *input,
                              int8_t *output)
{
    const int32_t channels = layer->channels;
    for (int32_t y = 0; y < layer->out_h; ++y) {
        const int8_t *row = input + layer->row[y] * layer->in_w * channels;
        for (int32_t x = 0; x < layer->out_w; ++x, output += channels) {
            memcpy(output, row + layer->column[x] * channels, (size_t)channels);
        }
    }
}
