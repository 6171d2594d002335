/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

void snapuq_sub_s8(const struct snapuq_add_s8 *layer, const int8_t *input1, const int8_t *input2,
                   int8_t *output)
{
    int32_t i1 = 0, i2 = 0;
    for (int32_t i = 0; i < layer->length; ++i) {
        const int32_t first = snapuq_operand(input1[i1], layer->in1_zero_point, layer->in1);
        const int32_t second = snapuq_operand(input2[i2], layer->in2_zero_point, layer->in2);
        const int32_t difference =
            snapuq_requantize_down(first - second, layer->out.mantissa, layer->out.shift);
        output[i] = snapuq_place(difference, layer->out_zero_point, layer->min, layer->max);
        i1 = snapuq_next(i1, layer->in1_length);
        i2 = snapuq_next(i2, layer->in2_length);
    }
}
