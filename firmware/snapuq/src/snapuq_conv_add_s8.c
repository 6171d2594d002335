/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_convolve.h"

void snapuq_conv_add_s8(const struct snapuq_conv_add_s8 *layer, const int8_t *input,
                        const int8_t *other, int8_t *scratch, int8_t *output)
{
    const struct snapuq_conv_s8 *conv = &layer->conv;
    struct snapuq_add_s8 add = layer->add;
    add.length = add.in1_length = add.in2_length = conv->out_c;

    for (int32_t oy = 0; oy < conv->out_h; ++oy) {
        for (int32_t ox = 0; ox < conv->out_w; ++ox) {
            const struct snapuq_window window = snapuq_window_at(conv, oy, ox);
            snapuq_convolve(conv, &window, input, scratch);
            snapuq_add_s8(&add, scratch, other, output);
            other += conv->out_c;
            output += conv->out_c;
        }
    }
}
