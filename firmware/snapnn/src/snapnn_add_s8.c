/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_columns.h"

void snapnn_add_s8(const struct snapnn_add_s8 *layer, const int8_t *input1, const int8_t *input2,
                   int8_t *output)
{
    const struct snapnn_scale in2 = layer->in2, out = layer->out;
    const int32_t factor = layer->factor, in2_offset = layer->in2_offset;
    int8_t *to = output;
    for (const int8_t *end = output + layer->length; to != end; ++to) {
        const int32_t second = snapnn_scaled(*input2++ * factor + in2_offset, &in2);
        const int32_t sum = *input1++ * (1 << 19) + second;
        *to = (int8_t)snapuq_saturate8(snapnn_scaled(sum, &out));
    }
    snapnn_limit(output, layer->length, &layer->range);
}
