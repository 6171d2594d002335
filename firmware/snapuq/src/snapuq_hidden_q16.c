/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

int32_t snapuq_hidden_q16(const struct snapuq_hidden *layer, int32_t start_q16,
                          const int32_t *input_q16, int32_t answer)
{
    const int32_t *weight = layer->weight_q16;
    int64_t total = start_q16;
    for (int32_t h = 0; h < layer->units; ++h) {
        int64_t inner = layer->bias_q16[h * layer->classes + answer];
        for (int32_t j = 0; j < layer->inputs; ++j) {
            inner += snapuq_mul_q16(*weight++, input_q16[j]);
        }
        total += snapuq_mul_q16(layer->out_q16[h], snapuq_clamp64(inner, 0, INT32_MAX));
    }
    return (int32_t)snapuq_clamp64(total, INT32_MIN, INT32_MAX);
}
