/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_positions.h"

void snapnn_conv_add_s8(const struct snapnn_conv_add_s8 *layer, const int8_t *input,
                        const int8_t *other, void *scratch, int8_t *output)
{
    const struct snapnn_conv_s8 *conv = &layer->conv;
    const struct snapnn_matrix *matrix = &conv->matrix;
    int8_t *made = (int8_t *)scratch + SNAPNN_COLUMNS_BYTES(matrix->groups);
    struct snapnn_place place = {0, 0};
    struct snapnn_add_s8 add = layer->add;
    for (int32_t left = conv->out_h * conv->out_w; left > 0;) {
        const int32_t count = snapnn_positions(conv, input, &place, left, scratch, made);
        add.length = count * matrix->channels;
        snapnn_add_s8(&add, layer->conv_is_second ? other : made,
                      layer->conv_is_second ? made : other, output);
        other += add.length;
        output += add.length;
        left -= count;
    }
}
