/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_positions.h"

void snapnn_conv_s8(const struct snapnn_conv_s8 *layer, const int8_t *input, void *scratch,
                    int8_t *output)
{
    struct snapnn_place place = {0, 0};
    for (int32_t left = layer->out_h * layer->out_w; left > 0;) {
        const int32_t count = snapnn_positions(layer, input, &place, left, scratch, output);
        output += count * layer->matrix.channels;
        left -= count;
    }
}
