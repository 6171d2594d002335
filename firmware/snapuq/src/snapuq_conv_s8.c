/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_convolve.h"

void snapuq_conv_s8(const struct snapuq_conv_s8 *layer, const int8_t *input, int8_t *output)
{
    if (layer->kernel_h == 1 && layer->kernel_w == 1 && layer->stride_h == 1 &&
        layer->stride_w == 1) {
        for (int32_t left = layer->out_h * layer->out_w; left > 0; --left) {
            snapuq_dense(input, layer->in_c, layer->in_zero_point, layer->weights, &layer->out,
                         layer->out_c, snapuq_output, output);
            input += layer->in_c;
            output += layer->out_c;
        }
        return;
    }

    for (int32_t oy = 0; oy < layer->out_h; ++oy) {
        for (int32_t ox = 0; ox < layer->out_w; ++ox) {
            const struct snapuq_window window = snapuq_window_at(layer, oy, ox);
            snapuq_convolve(layer, &window, input, output);
            output += layer->out_c;
        }
    }
}
