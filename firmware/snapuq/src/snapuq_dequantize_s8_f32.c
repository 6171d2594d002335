/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

void snapuq_dequantize_s8_f32(const struct snapuq_dequantize_s8_f32 *layer, const int8_t *input,
                              float *output)
{
    for (int32_t i = 0; i < layer->length; ++i) {
        output[i] = layer->scale * (float)(input[i] - layer->zero_point);
    }
}
