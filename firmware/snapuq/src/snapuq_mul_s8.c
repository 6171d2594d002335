/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

void snapuq_mul_s8(const struct snapuq_mul_s8 *layer, const int8_t *input1, const int8_t *input2,
                   int8_t *output)
{
    const struct snapuq_multiplier multiplier = layer->multiplier;
    int32_t i1 = 0, i2 = 0;
    for (int32_t i = 0; i < layer->length; ++i) {
        const int32_t product =
            (input1[i1] - layer->in1_zero_point) * (input2[i2] - layer->in2_zero_point);
        const int32_t scaled =
            snapuq_requantize_inline(product, multiplier.mantissa, multiplier.shift);
        output[i] = snapuq_place(scaled, layer->out_zero_point, layer->min, layer->max);
        i1 = snapuq_next(i1, layer->in1_length);
        i2 = snapuq_next(i2, layer->in2_length);
    }
}
